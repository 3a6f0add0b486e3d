import { expect, it } from 'vitest'
import { externalToolsIn, refuseUnknownTools } from '../../src/agent/tool-names.ts'
import { fakeMcp } from '../helpers/fake-mcp.ts'

it('options of a call that name a server of an untrusted file are refused for that reason', () => {
  const mcp = { ...fakeMcp({}), leftOut: new Map([['calc', { file: '.mcp.json', isChanged: false }]]) }
  expect(() => refuseUnknownTools(['calc__add'], '"main"', externalToolsIn({ mcp }))).toThrow(
    /"calc__add" cannot be used: the server calc of \.mcp\.json is left out: the file is not trusted/,
  )
})
