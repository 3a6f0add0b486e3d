-- Reads what a model answered to a built-in agent.
local M = {}

local no_model = "it needs a model, and none is reachable: offline::extractive only quotes files. Set the key of a "
  .. 'provider, or write model = "…" into its entry or into the front matter'

--- The text of an answer; or nil and what the agent returns because there is none.
function M.text(ai_response)
  if ai_response.adapter_kind == "offline" then return nil, { success = false, error_msg = no_model } end
  local text = aip.text.trim(value_or(ai_response.content, ""))
  if text == "" then
    return nil, { success = false, error_msg = ai_response.model_name .. " gave an empty answer" }
  end
  return text
end

local function parsed(text)
  local ok, value = pcall(aip.json.parse, text)
  if ok and type(value) == "table" and (next(value) == nil or #value > 0) then return value end
end

--- The JSON list of an answer: all of it, its fenced block, or the first list within other words. nil without one.
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
