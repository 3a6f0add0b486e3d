-- Reads the answer of a model to a built-in agent.
local M = {}

local no_model = "it needs a model, but none is available: offline::extractive only quotes files. Set the API key of a "
  .. 'provider, or set model = "…" in its entry or in the front matter'

--- The text of an answer, or nil and the result of the agent if there is none.
function M.text(ai_response)
  if ai_response.adapter_kind == "offline" then return nil, { success = false, error_msg = no_model } end
  local text = aip.text.trim(value_or(ai_response.content, ""))
  if text == "" then
    return nil, { success = false, error_msg = ai_response.model_name .. " returned an empty answer" }
  end
  return text
end

local function parsed(text)
  local ok, value = pcall(aip.json.parse, text)
  if ok and type(value) == "table" and (next(value) == nil or #value > 0) then return value end
end

--- The JSON list in an answer: a fenced block, the whole answer, or the first list in other text. nil if there is none.
function M.list(text)
  for _, block in ipairs(aip.md.extract_blocks(text)) do
    local list = parsed(block.content)
    if list then return list end
  end
  local list = parsed(text)
  if list then return list end
  for candidate in text:gmatch("%b[]") do
    list = parsed(candidate)
    if list then return list end
  end
end

return M
