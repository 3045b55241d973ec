"""The recorder of profiles: where the time and the memory of a training step go on this machine.

Beside the trainer only this package imports torch; reading a profile needs none of it.
"""
