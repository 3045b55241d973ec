"""From commands to a verdict with as few runs as it takes: `ttastats race`."""
