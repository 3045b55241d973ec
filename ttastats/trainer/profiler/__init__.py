"""The recorder of profiles: where the time and the memory of a training step go on this machine.

Reading a profile needs none of it.
"""
