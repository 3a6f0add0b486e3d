import { emit } from '../../event/context.ts'
import { acting, type HostModule, several } from './module.ts'
import { countShown } from './call.ts'

/**
 * The global helpers: null tests, `print`, and `utils` and `aipack` as aliases of `aip`. `null`, `Null` and `NULL`
 * themselves come from the engine. `print` joins its arguments with newlines, shows strings unchanged and everything
 * else like `aip.lua.dump`, and becomes a `print` event with the agent's name.
 */
export const globalsModule: HostModule = {
  name: '',
  functions: {
    /** `print(...)` Prints its arguments, each on its own line; tables are shown like `aip.lua.dump`. */
    print: acting((call) => {
      const [line] = call.args
      const text = line instanceof Uint8Array ? Buffer.from(line).toString('utf8') : call.text(0)
      countShown(call, text)
      emit(call.context, { type: 'print', name: call.section.agentName, text })
      return several()
    }),
  },
  lua: {
    name: 'globals',
    /**
     * `is_null(value) → boolean`
     * `is_not_null(value) → boolean` Whether a value is nil or null; whether it is neither.
     */
    /** `nil_if_null(value) → any` nil for null, otherwise the value. */
    /** `value_or(...) → any` The first argument that is neither nil nor null; if there is none, the last one. */
    /**
     * `is_table(value) → boolean`
     * `is_list(value) → boolean`
     * `is_object(value) → boolean` Whether a value is a table; a table with a first element; a table without one, such
     * as `{}`.
     */
    text: `
local null, emit, dump = null, print, aip.lua.dump

function print(...)
  local parts = table.pack(...)
  for index = 1, parts.n do
    local part = parts[index]
    parts[index] = type(part) == "string" and part or dump(part)
  end
  emit(table.concat(parts, "\\n"))
end

function is_null(value) return value == nil or value == null end
function is_not_null(value) return value ~= nil and value ~= null end
function nil_if_null(value) if value ~= null then return value end end

function value_or(...)
  local last = nil
  for position = 1, select("#", ...) do
    last = (select(position, ...))
    if last ~= nil and last ~= null then return last end
  end
  return last
end

function is_table(value) return type(value) == "table" end
function is_list(value) return type(value) == "table" and rawget(value, 1) ~= nil end
function is_object(value) return type(value) == "table" and rawget(value, 1) == nil end

utils, aipack = aip, aip
-- old packs call the flow functions on aipack itself
for name, make in pairs(aip.flow) do aip[name] = make end
`,
  },
}
