/** The functions of `aip.shape` that take keys of a record, as Lua; `shape-helpers.ts` has what they use. */
export const shapeKeys: { readonly [name: string]: string } = {
  /**
   * `aip.shape.select_keys(record, keys) → table`
   *
   * A new record with these keys only; those that are missing are ignored. A key that is no string is an error.
   */
  select_keys: `
function(record, keys)
    check_table("select_keys", "record", record)
    check_strings("select_keys", "keys", keys)
    local selected = {}
    for _, key in ipairs(keys) do selected[key] = record[key] end
    return selected
  end`,
  /**
   * `aip.shape.omit_keys(record, keys) → table`
   *
   * A new record without these keys. A key that is no string is an error.
   */
  omit_keys: `
function(record, keys)
    check_table("omit_keys", "record", record)
    check_strings("omit_keys", "keys", keys)
    local kept = {}
    for key, value in pairs(record) do kept[key] = value end
    for _, key in ipairs(keys) do kept[key] = nil end
    return kept
  end`,
  /**
   * `aip.shape.remove_keys(record, keys) → integer`
   *
   * Takes these keys out of the record itself, and tells how many there were. A key that is no string is an error.
   */
  remove_keys: `
function(record, keys)
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
  end`,
  /**
   * `aip.shape.extract_keys(record, keys) → table`
   *
   * Moves these keys out of the record itself into a new one. A key that is no string is an error.
   */
  extract_keys: `
function(record, keys)
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
  end`,
}
