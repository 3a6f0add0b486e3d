-- Adds rules to the instruction. Describe your agent here in one sentence: baton list shows it.
--
-- Stage: pre or pre_task. Needs no model. Options of its entry in sub_agents:
-- rules: a list of sentences (default: one about files and lines)

-- As a sub-agent it gets the request as a table; on its own, the text of -i.
local is_sub_agent = type(input) == "table" and input.coder_stage ~= nil

local options = is_sub_agent and input.agent_config or {}
local rules = options.rules or { "Cite the file and line for every statement." }
local text = "Rules:\n- " .. table.concat(rules, "\n- ")

if not is_sub_agent then
  return (input or "") .. "\n\n" .. text
end

-- To see everything it gets: print(aip.json.stringify_pretty(input))
-- What it may return: coder_prompts_append (adds to the instruction), coder_prompt (replaces it), coder_params_patch
-- (changes keys of the front matter), agent_result (for later agents), error_msg (ends the run), nil (no change).
return { coder_prompts_append = text }
