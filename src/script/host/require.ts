import { dirname } from 'node:path'
import { displayPath } from '../../base/files.ts'
import { withoutMark } from '../../base/text-lines.ts'
import { moduleFiles } from '../module-reader.ts'
import { type HostModule, pure, several, type Section } from './module.ts'

/**
 * `require`: modules are `lua/<name>.lua` and `lua/<name>/init.lua` next to the agent, then in the root of its pack.
 * They run in the real globals, so they never see the variables of the section; each runs once per Lua state. Written
 * in Lua, because a module may wait while it is loaded. `package.loaded` is the only part of `package`.
 *
 * The host function is declared pure, because it records what it reads itself, once for the whole run.
 */
export const requireModule: HostModule = {
  name: '',
  functions: {
    /**
     * `require(name) → any, string` Loads the Lua module `lua/<name>.lua` or `lua/<name>/init.lua` next to the agent or
     * in its pack, once per section. On the call that loads it, the second value is its file. A module that is not
     * found is an error, and so are modules that require each other.
     */
    require: pure((call) => several(...findModule(call.text(0, 'the module'), call.section))),
  },
  lua: {
    name: 'require',
    text: `
local find = require
local loading, path = {}, {}
local loaded = {
  _G = _G, coroutine = coroutine, debug = debug, math = math, os = os, string = string, table = table, utf8 = utf8,
}
package = { loaded = loaded }

local function run(name, source, chunk)
  local body, problem = load(source, "@" .. chunk, "t")
  if not body then error(problem, 0) end
  return body(name, chunk)
end

function require(name)
  if type(name) ~= "string" then
    error("bad argument #1 to 'require' (string expected, got " .. type(name) .. ")", 2)
  end
  local known = loaded[name]
  if known ~= nil then return known end
  if loading[name] then
    error("modules require each other in a cycle: " .. table.concat(path, " → ") .. " → " .. name, 2)
  end
  local source, chunk = find(name)
  if source == nil then error(chunk, 2) end

  loading[name] = true
  path[#path + 1] = name
  local ok, value = pcall(run, name, source, chunk)
  loading[name] = nil
  path[#path] = nil
  if not ok then error(value, 0) end
  if value ~= nil then loaded[name] = value end
  if loaded[name] == nil then loaded[name] = true end
  return loaded[name], chunk
end
`,
  },
}

/** Source and chunk name; or nil and the reason why there is none. */
function findModule(name: string, section: Section): readonly [string | undefined, string] {
  const { agentFile, context, pack, loaded } = section
  const folders = [...new Set([dirname(agentFile), ...(pack === undefined ? [] : [pack.dir])])]
  const found = section.findModule(name, folders, context)
  const shown = (path: string): string => displayPath(context.scope.folders.workspace, path)
  if (found === undefined) {
    return [undefined, `module '${name}' not found: there is no ${moduleFiles(name, folders).map(shown).join(', no ')}`]
  }
  const chunk = shown(found.file)
  return [asLua(found.text), loaded?.add(chunk, found) ?? chunk]
}

/** The text of a module as Lua reads it: without a byte order mark, and with a shebang line turned into a comment. */
export function asLua(source: string): string {
  const code = withoutMark(source)
  return code.startsWith('#') ? `--${code}` : code
}
