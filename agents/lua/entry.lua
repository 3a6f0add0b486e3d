-- Shared by the built-in agents: checks the stage and the options of an entry, and fills in defaults.
local M = {}

-- keys of an entry that belong to the chain, not to the agent
local chain_keys = { name = true, enabled = true, stage = true, merge = true, as = true, options = true }

local units = { ms = 1, s = 1000, m = 60000, h = 3600000 }

--- A duration such as "90s" in milliseconds, or nil.
local function milliseconds(value)
  if type(value) ~= "string" then return nil end
  local number, unit = value:match("^(%d+%.?%d*)(m?[smh])$")
  return units[unit] and math.floor(tonumber(number) * units[unit]) or nil
end

local function is_text(value) return type(value) == "string" and value:find("%S") ~= nil end

local function is_texts(value)
  if type(value) ~= "table" or (next(value) ~= nil and #value == 0) then return false end
  for _, item in ipairs(value) do
    if not is_text(item) then return false end
  end
  return true
end

-- the kinds of options: what a value must be, and a function that checks it
local kinds = {
  text = { "a non-empty string", is_text },
  texts = { "a list of non-empty strings", is_texts },
  count = { "a whole number of at least 1", function(value) return math.type(value) == "integer" and value >= 1 end },
  flag = { "true or false", function(value) return type(value) == "boolean" end },
  table = { "a table", function(value) return type(value) == "table" end },
  duration = { 'a duration such as "90s" or "10m"', function(value) return milliseconds(value) ~= nil end },
  command = {
    "a command (a string or a list of strings)",
    function(value) return is_text(value) or (is_texts(value) and #value > 0) end,
  },
}

local function shown(value)
  if type(value) == "table" then
    return #value > 0 and aip.text.truncate(aip.json.stringify(value), 80, "…") or "a table"
  end
  if type(value) == "string" then return '"' .. value .. '"' end
  return tostring(value)
end

--- The result of a sub-agent that failed.
function M.failure(message) return { success = false, error_msg = message } end

local function wrong_stage(stage, stages)
  for _, known in ipairs(stages) do
    if known == stage then return nil end
  end
  local fitting = '"' .. table.concat(stages, '" or "') .. '"'
  return M.failure('it cannot run in the stage "' .. stage .. '"; set stage = ' .. fitting .. " in its entry")
end

local function unknown_option(entry, options)
  for key in pairs(entry) do
    if not chain_keys[key] and options[key] == nil then
      local names = {}
      for name in pairs(options) do names[#names + 1] = name end
      return M.failure('it has no option "' .. tostring(key) .. '"; its options are ' .. table.concat(names, ", "))
    end
  end
end

--- The options of an entry, with defaults filled in, or nil and the result of the agent if the entry is invalid.
--- `spec.stages` lists the allowed stages; `spec.options` has the `kind` of each option, and its `default` or
--- `required`. Durations are returned in milliseconds.
function M.read(input, spec)
  if type(input) ~= "table" or type(input.agent_config) ~= "table" then
    error("this agent cannot run on its own: name it in sub_agents of a prompt file", 0)
  end
  local entry, options = input.agent_config, spec.options
  local problem = input.coder_stage and wrong_stage(input.coder_stage, spec.stages) or unknown_option(entry, options)
  if problem then return nil, problem end

  local values = {}
  for name, option in pairs(options) do
    local expected, fits = table.unpack(kinds[option.kind])
    local value = value_or(entry[name], option.default)
    if value == nil and option.required then
      return nil, M.failure('its option "' .. name .. '" is missing: ' .. expected)
    elseif value ~= nil and not fits(value) then
      return nil, M.failure('its option "' .. name .. '" must be ' .. expected .. ", not " .. shown(value))
    end
    if value ~= nil and option.kind == "duration" then value = milliseconds(value) end
    values[name] = value
  end
  return values
end

return M
