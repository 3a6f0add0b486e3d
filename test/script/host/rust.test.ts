import { describe, expect, it } from 'vitest'
import { rustModule } from '../../../src/script/host/code.ts'
import { hostSection } from './host-section.ts'
import { runLua } from './lua-host.ts'

const host = hostSection('/')

describe('aip.rust.prune_to_declarations', () => {
  it('removes the bodies of functions and keeps everything else', async () => {
    const code = `
local pruned = aip.rust.prune_to_declarations([[
//! Top
use some::module; // and comment

/// Says it.
pub async fn say(what: String) -> i32{
   let some = "code }";
  123
}

impl S {
  fn own() {
    // hidden
  }
}
]])
local ok, problem = pcall(aip.rust.prune_to_declarations, nil)
return { pruned, ok, tostring(problem):find("the code must be a string, but was nil", 1, true) ~= nil }`
    expect(await runLua(host, code)).toEqual([
      `//! Top
use some::module; // and comment

/// Says it.
pub async fn say(what: String) -> i32{
    // ...
}

impl S {
  fn own() {
      // ...
  }
}
`,
      false,
      true,
    ])
  })

  it('returns empty text for empty text, and refuses other values', () => {
    expect(host.call(rustModule, 'prune_to_declarations', '')).toEqual([''])
    expect(() => host.call(rustModule, 'prune_to_declarations', {})).toThrow('but was table')
  })
})
