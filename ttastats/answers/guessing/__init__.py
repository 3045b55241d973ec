"""Which blocks would describe unknown logs, and with what certainty?"""
