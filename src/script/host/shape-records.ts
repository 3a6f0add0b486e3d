/** The functions of `aip.shape` that turn rows, records and columns into each other, as Lua; `shape-helpers.ts` has what they use. */
export const shapeRecords: { readonly [name: string]: string } = {
  /**
   * `aip.shape.to_record(names, values) → table`
   *
   * A record with the values under these names; as many as there are of both. A name that is no string is an error.
   */
  to_record: `
function(names, values)
    check_strings("to_record", "names", names)
    check_table("to_record", "values", values)
    return zip(names, values)
  end`,
  /**
   * `aip.shape.to_records(names, rows) → list`
   *
   * The same for each row of a list. A row that is no table is an error.
   */
  to_records: `
function(names, rows)
    check_strings("to_records", "names", names)
    check_tables("to_records", "row", rows)
    local records = {}
    for index, row in ipairs(rows) do records[index] = zip(names, row) end
    return records
  end`,
  /**
   * `aip.shape.record_to_values(record, names?) → list`
   *
   * The values of a record under these names, `null` for those it does not have. Without names: the values of all string
   * keys, sorted by key.
   */
  record_to_values: `
function(record, names)
    check_table("record_to_values", "record", record)
    if names ~= nil then
      check_strings("record_to_values", "names", names)
      return pick(record, names)
    end
    local values = {}
    -- pairs gives string keys in byte order
    for key, value in pairs(record) do
      if type(key) == "string" then values[#values + 1] = value end
    end
    return values
  end`,
  /**
   * `aip.shape.records_to_value_lists(records, names) → list`
   *
   * The values of each record of a list under these names, `null` for those it does not have.
   */
  records_to_value_lists: `
function(records, names)
    check_strings("records_to_value_lists", "names", names)
    check_tables("records_to_value_lists", "record", records)
    local lists = {}
    for index, record in ipairs(records) do lists[index] = pick(record, names) end
    return lists
  end`,
  /**
   * `aip.shape.columnar_to_records(columns) → list`
   *
   * Records of a table with a list of values under each name. Lists of different lengths are an error.
   */
  columnar_to_records: `
function(columns)
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
  end`,
  /**
   * `aip.shape.records_to_columnar(records) → table`
   *
   * For each name that all records have, the list of its values. A key that is no string is an error.
   */
  records_to_columnar: `
function(records)
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
  end`,
}
