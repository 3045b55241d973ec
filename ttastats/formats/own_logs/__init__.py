"""What a user says of logs that no dialect knows by itself: `ttastats.toml`, presets, options."""

#: The file that is looked for beside logs and in the folders above.
FILE = "ttastats.toml"
