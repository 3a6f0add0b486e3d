import type { HostModule } from './module.ts'

/**
 * `aip.shape`. Written in Lua, because some functions change the record they are given, and because tables and
 * functions in records are passed on by reference.
 */
export const shapeModule: HostModule = {
  name: 'aip.shape',
  functions: {},
  lua: {
    name: 'aip.shape',
    /**
     * `aip.shape.to_record(names, values) → table` A record with the values under these names, up to the shorter of the
     * two lists. A name that is not a string is an error.
     */
    /**
     * `aip.shape.to_records(names, rows) → list` The same for each row of a list. A row that is not a table is an
     * error.
     */
    /**
     * `aip.shape.record_to_values(record, names?) → list` The values of a record for these names, `null` for missing
     * ones. Without names: the values of all string keys, sorted by key.
     */
    /**
     * `aip.shape.records_to_value_lists(records, names) → list` The values of each record of a list for these names,
     * `null` for missing ones.
     */
    /**
     * `aip.shape.columnar_to_records(columns) → list` Records from a table with a list of values for each name. Lists
     * of different lengths are an error.
     */
    /**
     * `aip.shape.records_to_columnar(records) → table` For each name that all records have, the list of its values. A
     * key that is not a string is an error.
     */
    /**
     * `aip.shape.select_keys(record, keys) → table` A new record with only these keys; missing keys are ignored. A key
     * that is not a string is an error.
     */
    /**
     * `aip.shape.omit_keys(record, keys) → table` A new record without these keys. A key that is not a string is an
     * error.
     */
    /**
     * `aip.shape.remove_keys(record, keys) → integer` Removes these keys from the record in place, and returns how many
     * it had. A key that is not a string is an error.
     */
    /**
     * `aip.shape.extract_keys(record, keys) → table` Moves these keys from the record, which is changed in place, into
     * a new one. A key that is not a string is an error.
     */
    // `level` counts the calls from `fail` up to the script, none of which may be a tail call
    text: `
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

aip.shape = {
  to_record = function(names, values)
    check_strings("to_record", "names", names)
    check_table("to_record", "values", values)
    return zip(names, values)
  end,
  to_records = function(names, rows)
    check_strings("to_records", "names", names)
    check_tables("to_records", "row", rows)
    local records = {}
    for index, row in ipairs(rows) do records[index] = zip(names, row) end
    return records
  end,
  record_to_values = function(record, names)
    check_table("record_to_values", "record", record)
    if names ~= nil then
      check_strings("record_to_values", "names", names)
      return pick(record, names)
    end
    local values = {}
    -- pairs returns string keys in byte order
    for key, value in pairs(record) do
      if type(key) == "string" then values[#values + 1] = value end
    end
    return values
  end,
  records_to_value_lists = function(records, names)
    check_strings("records_to_value_lists", "names", names)
    check_tables("records_to_value_lists", "record", records)
    local lists = {}
    for index, record in ipairs(records) do lists[index] = pick(record, names) end
    return lists
  end,
  columnar_to_records = function(columns)
    local name = "columnar_to_records"
    check_table(name, "columns", columns)
    local records, first, rows = {}, nil, 0
    for key, column in pairs(columns) do
      if type(key) ~= "string" then fail(name, "the names of columns must be strings, but one was " .. type(key), 2) end
      if type(column) ~= "table" then fail(name, "column " .. key .. " must be a list, but was " .. type(column), 2) end
      local count = length(column)
      if first == nil then
        first, rows = key, count
        for index = 1, count do records[index] = {} end
      elseif count ~= rows then
        fail(name, "all columns must have the same length, but " .. first .. " has " .. rows .. " and " .. key .. " has " .. count, 2)
      end
      for index = 1, count do records[index][key] = column[index] end
    end
    return records
  end,
  records_to_columnar = function(records)
    local name = "records_to_columnar"
    check_tables(name, "record", records)
    local columns, count = {}, length(records)
    for index = 1, count do
      for key, value in pairs(records[index]) do
        if type(key) ~= "string" then fail(name, "the keys of record " .. index .. " must be strings, but one was " .. type(key), 2) end
        if index == 1 then columns[key] = {} end
        local column = columns[key]
        if column and #column == index - 1 then column[index] = value end
      end
    end
    local whole = {}
    for key, column in pairs(columns) do
      if #column == count then whole[key] = column end
    end
    return whole
  end,
  select_keys = function(record, keys)
    check_table("select_keys", "record", record)
    check_strings("select_keys", "keys", keys)
    local selected = {}
    for _, key in ipairs(keys) do selected[key] = record[key] end
    return selected
  end,
  omit_keys = function(record, keys)
    check_table("omit_keys", "record", record)
    check_strings("omit_keys", "keys", keys)
    local kept = {}
    for key, value in pairs(record) do kept[key] = value end
    for _, key in ipairs(keys) do kept[key] = nil end
    return kept
  end,
  remove_keys = function(record, keys)
    check_table("remove_keys", "record", record)
    check_strings("remove_keys", "keys", keys)
    local count = 0
    for _, key in ipairs(keys) do
      if record[key] ~= nil then
        record[key] = nil
        count = count + 1
      end
    end
    return count
  end,
  extract_keys = function(record, keys)
    check_table("extract_keys", "record", record)
    check_strings("extract_keys", "keys", keys)
    local taken = {}
    for _, key in ipairs(keys) do
      if record[key] ~= nil then
        taken[key] = record[key]
        record[key] = nil
      end
    end
    return taken
  end,
}
`,
  },
}
