"""What a user says of logs that no dialect knows by itself: `ttastats.toml`, presets, options."""

#: The file that is looked for beside logs and in the folders above.
FILE = "ttastats.toml"
#: The code of the problem that holds a block by which logs were read that nobody had described.
GUESSED = "guessed_block"
#: The code of the problem that names files for which no block is proposed, and why.
NOT_GUESSED = "not_guessed"
