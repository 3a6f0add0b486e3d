/**
 * The text of a new `baton.toml`. A line that is commented out as `# key = value` or `# [table]` is a valid setting
 * without the mark: the value is the default, or an example where there is none.
 */
export const configText = `# Settings of this project for Baton. All of them are optional; what is commented out shows the default or an example.
#
# A prompt file wins over this file, and this file over your own config file. What is in force here, and why:
#   baton config --origin
# All keys: baton schema config. So that your editor knows them:
#   mkdir -p .baton && baton schema config > .baton/config.schema.json
# and in the first line of this file:
#   #:schema ./.baton/config.schema.json
# Keys of providers are read from the environment only.

# The model when a prompt file names none: an alias (normal, high, fast), a name, or provider::name.
# model = "normal"

# Asked in this order when the model fails for good.
# fallback_models = ["fast"]

# How many tasks of a run are worked on at the same time.
# input_concurrency = 2

# More than this in one prompt and the task fails before anything is paid.
# max_files_size_kb = 1500

# Environment variables whose values are never written down, besides the keys of providers.
# secrets = ["DATABASE_URL"]

# Limits of each run.
# [budget]
# usd = 5.0
# calls = 200

# Own names for models.
# [model_aliases]
# cheap = "fast"

# How long a model may take.
# [timeouts]
# connect = "10s"
# headers = "30s"
# stream_idle = "5m"

# Limits of the Lua code of agents.
# [lua]
# timeout = "60s"
# memory_mb = 256
`
