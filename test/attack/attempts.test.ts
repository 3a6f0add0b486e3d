import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startModelServer } from '../helpers/model-server.ts'
import { attack } from './attempts.ts'
import { createWorld, expectHeld, type World } from './harness.ts'

const harm: Readonly<Record<string, (world: World) => void>> = {
  'foreign code that ran': ({ marker }) => writeFileSync(marker, ''),
  'a new file in the home folder': ({ home }) => writeFileSync(join(home, '.profile'), 'x'),
  'a file outside that changed': ({ outside }) => writeFileSync(join(outside, 'precious.txt'), 'lost'),
  'a file outside that is gone': ({ outside }) => rmSync(join(outside, 'precious.txt')),
  'a link beside the workspace': ({ folder }) => symlinkSync('/etc', join(folder, 'other')),
}

attack('the harness sees', { core: harm }, async (doIt) => {
  const world = createWorld({ outside: { 'precious.txt': 'kept' } })
  const end = await world.run(['--version'])
  expectHeld(world, end, [0])
  doIt(world)
  expect(() => expectHeld(world, end)).toThrow(/foreign code|precious|profile|other|expected/)
})

it('a world runs the built command against a server of its own', async () => {
  const server = await startModelServer(() => ({ text: 'the answer' }))
  try {
    const world = createWorld({ work: { 'ask.md': 'Say something.\n' }, env: { BATON_GATEWAY_URL: server.url } })
    const end = await world.run(['ask.md', '-m', 'any'])
    expectHeld(world, end, [0])
    expect(end.stdout).toContain('the answer')
  } finally {
    await server.close()
  }
})

it('a shell is killed when it does not end, with all it has started', async () => {
  const world = createWorld()
  const end = await world.run(['-c', 'sleep 600 & wait'], { program: 'sh', patienceMs: 300 })
  expect(end.isHung).toBe(true)
})
