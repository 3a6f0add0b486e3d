/** What the functions share. `level` counts the calls from `fail` up to the script, none of which may be a tail call. */
export const shapeHelpers = `
local null = null

local function fail(name, problem, level)
  error("aip.shape." .. name .. ": " .. problem, level + 1)
end

local function check_table(name, what, value)
  if type(value) ~= "table" then fail(name, what .. " must be a table, but was " .. type(value), 3) end
end

local function check_strings(name, what, list)
  if type(list) ~= "table" then fail(name, what .. " must be a list of strings, but was " .. type(list), 3) end
  for index, item in ipairs(list) do
    if type(item) ~= "string" then fail(name, what .. "[" .. index .. "] must be a string, but was " .. type(item), 3) end
  end
end

local function check_tables(name, what, list)
  if type(list) ~= "table" then fail(name, "the " .. what .. "s must be a list, but was " .. type(list), 3) end
  for index, item in ipairs(list) do
    if type(item) ~= "table" then fail(name, what .. " " .. index .. " must be a table, but was " .. type(item), 3) end
  end
end

local function length(list)
  local count = 0
  for index in ipairs(list) do count = index end
  return count
end

local function zip(names, values)
  local record = {}
  for index, value in ipairs(values) do
    local name = names[index]
    if name == nil then break end
    record[name] = value
  end
  return record
end

local function pick(record, names)
  local values = {}
  for index, name in ipairs(names) do
    local value = record[name]
    if value == nil then value = null end
    values[index] = value
  end
  return values
end
`
