import { join, resolve } from 'node:path'
import { displayPath } from '../base/files.ts'
import { checkFileName } from './new-name.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Starter } from './starter.ts'

/**
 * An agent at the path `name`, relative to `cwd`; a name without a folder goes into `agents/` of the workspace. It is
 * an .aip file, or Lua alone when the name ends with .lua, and runs without a model.
 * @throws BatonError USAGE for a name that no file can have
 */
export function agentStarter(
  name: string,
  { cwd, workspace }: { readonly cwd: string; readonly workspace: string },
): Starter {
  checkFileName(name, 'agent')
  const named = /\.(?:aip|lua)$/.test(name) ? name : `${name}.aip`
  const path = /[/\\]/.test(named) ? resolve(cwd, named) : join(workspace, 'agents', named)
  const file = shellWord(displayPath(cwd, path))
  const entry = JSON.stringify(displayPath(workspace, path))
  return {
    files: [{ path, text: named.endsWith('.lua') ? luaText : aipText }],
    next: [
      { kind: 'command', command: `baton check ${file}` },
      { kind: 'command', command: `baton ${file} -i "some text"`, note: 'by itself' },
      { kind: 'text', text: `in the front matter of a prompt file: sub_agents = [${entry}]` },
    ],
  }
}

const code = `-- As a sub-agent it gets the request as a table, by itself the text of -i.
local is_sub_agent = type(input) == "table" and input.coder_stage ~= nil

local options = is_sub_agent and input.agent_config or {}
local rules = options.rules or { "Name the file and the line of everything you say." }
local text = "Rules:\\n- " .. table.concat(rules, "\\n- ")

if not is_sub_agent then
  return (input or "") .. "\\n\\n" .. text
end

-- To look at all it gets: print(aip.json.stringify_pretty(input))
-- What it may return: coder_prompts_append (more instruction), coder_prompt (another one), coder_params_patch (other
-- keys of the front matter), agent_result (for later agents), error_msg (ends the run), nil (no change).
return { coder_prompts_append = text }`

const fence = '```'

const aipText = `Adds rules to the instruction. Say here in one sentence what the agent does: baton list shows it.

Stage: \`pre\` or \`pre_task\`. Needs no model. Options of its entry in \`sub_agents\`:

- \`rules\`: a list of sentences (default: one about files and lines)

To ask a model from here, add a section "# User" with the prompt above "# Output"; the answer is \`ai_response.content\`.

# Output

${fence}lua
${code}
${fence}
`

const luaText = `-- Adds rules to the instruction. Say here in one sentence what the agent does: baton list shows it.
--
-- Stage: pre or pre_task. Needs no model. Options of its entry in sub_agents:
-- rules: a list of sentences (default: one about files and lines)

${code}
`
