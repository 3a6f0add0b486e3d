/** A pack as its files name it. `folder` is relative to the workspace. */
export interface PackNames {
  readonly namespace: string
  readonly name: string
  readonly folder: string
}

const fence = '```'

export function manifest({ namespace, name }: PackNames): string {
  return `[pack]
namespace = "${namespace}"
name = "${name}"
version = "0.1.0"

[baton]
# How coder_params that an agent returns join those of the prompt file, when its entry does not say: "shallow" (the
# default of packs), "deep" or "replace".
merge = "shallow"
`
}

export const mainAgent = `Asks for short answers. Say here in one sentence what the agent does: baton list shows it.

Stage: \`pre\`. Needs no model. Options of its entry in \`sub_agents\`:

- \`max_words\`: how many words an answer may have (default 100)

# Output

${fence}lua
-- lua/words.lua of this pack
local words = require("words")

-- As a sub-agent it gets the request as a table, by itself the text of -i.
local is_sub_agent = type(input) == "table" and input.coder_stage ~= nil
if not is_sub_agent then
  return words.count(input or "") .. " words"
end

local max_words = input.agent_config.max_words or words.limit
return {
  -- one more part of the instruction
  coder_prompts_append = "Answer in at most " .. max_words .. " words.",
  -- a value for later agents: check.aip reads it
  coder_params_patch = { max_words = max_words },
}
${fence}
`

export const checkAgent = `Counts the words of the answer and says below it when they are too many.

Stage: \`post_task\`. Needs no model. Options of its entry in \`sub_agents\`:

- \`strict\`: true fails the task instead (default false)

# Output

${fence}lua
local words = require("words")

if type(input) ~= "table" or input.ai_response == nil then
  error('this agent needs an answer: { name = "' .. CTX.PACK_REF .. '", stage = "post_task" }')
end

local count = words.count(input.ai_response.content)
local max_words = input.coder_params.max_words or words.limit
if count <= max_words then
  return { agent_result = { words = count } }
end

local message = "The answer has " .. count .. " words; " .. max_words .. " were asked for."
if input.agent_config.strict then
  return { success = false, error_msg = message }
end
return {
  ai_response = { content = aip.text.trim_end(input.ai_response.content) .. "\\n\\n" .. message .. "\\n" },
  agent_result = { words = count },
}
${fence}
`

export const wordsModule = `local words = { limit = 100 }

function words.count(text)
  local count = 0
  for _ in text:gmatch("%S+") do
    count = count + 1
  end
  return count
end

return words
`

export function example({ namespace, name, folder }: PackNames): string {
  return `+++
# Shows both agents of ${namespace}@${name} at work.
context_globs = ["${folder}/*.aip"]
sub_agents = [
  { name = "${namespace}@${name}", max_words = 40 },
  { name = "${namespace}@${name}/check", stage = "post_task" },
]
+++
What do these agents do?
`
}

export function readme({ namespace, name, folder }: PackNames): string {
  return `# ${namespace}@${name}

A Baton pack: agents that any prompt file can name.

| Agent | Stage | Does |
| --- | --- | --- |
| \`${namespace}@${name}\` | \`pre\` | asks for short answers; option \`max_words\` (100) |
| \`${namespace}@${name}/check\` | \`post_task\` | says when an answer is longer; option \`strict\` (false) |

Name them in the front matter of a prompt file:

${fence}toml
sub_agents = [
  { name = "${namespace}@${name}", max_words = 40 },
  { name = "${namespace}@${name}/check", stage = "post_task" },
]
${fence}

\`example.md\` is such a file:

${fence}sh
baton ${folder}/example.md -m offline::extractive
${fence}

## Files

| File | Is |
| --- | --- |
| \`pack.toml\` | the name, the version, and how returned parameters join |
| \`main.aip\` | the agent \`${namespace}@${name}\` |
| \`check.aip\` | the agent \`${namespace}@${name}/check\` |
| \`lua/words.lua\` | what both share: \`require("words")\` |

Baton finds the pack in \`.baton/packs\` of the project; in \`~/.local/share/baton/packs\` it is there for all projects.
`
}
