"""The plots of profiles: where the time and the memory of a step go."""
