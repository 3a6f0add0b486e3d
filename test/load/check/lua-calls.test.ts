import { expect, it } from 'vitest'
import { namedCalls } from '../../../src/load/check/lua-source.ts'

/** `kind name line:column-endColumn` of each call. */
function found(code: string): readonly string[] {
  return namedCalls(code).map(
    ({ kind, name, line, column, endColumn }) => `${kind} ${name} ${line}:${column}-${endColumn}`,
  )
}

it('finds the names of modules and agents in all common spellings', () => {
  const code = `local a = require("one")
local b = require 'two.three'
  return aip.agent.run( "x.aip", { input = 1 }), aip.agent.run('y')`
  expect(found(code)).toEqual([
    'module one 1:19-24',
    'module two.three 2:19-30',
    'agent x.aip 3:25-32',
    'agent y 3:64-67',
  ])
})

it.each([
  ['a comment', '-- require("a")\n--[[ require("b")\naip.agent.run("c") ]] --[==[ require("d") ]] ]==]'],
  ['a text', 'local t = "require(\'a\')" .. [[ require("b") ]] .. [=[ aip.agent.run("c") ]=]'],
  ['a name that is put together', 'require("a." .. name) aip.agent.run("b" .. name) require(name) aip.agent.run(name)'],
  ['another function', 'my.require("a") myrequire("b") x.aip.agent.run("c") self:require("d")'],
  ['an escape', 'require("a\\\\b")'],
])('ignores %s', (_, code) => {
  expect(found(code)).toEqual([])
})

it('continues after texts that contain quotes and comment marks', () => {
  expect(found('local s = "it\'s -- here" local t = \'a "b\' require("c")')).toEqual(['module c 1:51-54'])
})
