import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sha256 } from '../../src/base/hash.ts'
import { mcpTrustText } from '../../src/config/mcp-layer.ts'
import { trustFile, writeTrusted } from '../../src/config/trust.ts'
import { serversOf } from '../../src/mcp/server-of.ts'
import { userPacks } from '../../src/pack/find-pack.ts'
import { isAnyTrusted } from '../../src/pack/server-file.ts'
import { readAllPackServers, readPackServers, withoutNamed } from '../../src/pack/pack-servers.ts'
import { tempTree } from '../helpers/temp.ts'

const manifest = (mcp: string): string =>
  `[pack]\nnamespace = "demo"\nname = "sums"\nversion = "1.0.0"\n[capabilities]\nmcp = [${mcp}]\n`

const calc = { command: 'node', args: ['${PACK_DIR}/server.mjs', '${TOKEN:-none}'] }

/** A pack of the workspace with this servers file. */
function world(servers: unknown, toml: string | null = manifest('"calc"')) {
  const text = typeof servers === 'string' ? servers : JSON.stringify({ mcpServers: servers })
  const cwd = tempTree({
    '.git/HEAD': '',
    '.baton/packs/demo/sums/.mcp.json': text,
    '.baton/packs/demo/sums/server.mjs': '1',
    ...(toml === null ? {} : { '.baton/packs/demo/sums/pack.toml': toml }),
  })
  const around = { cwd, home: '/nowhere', env: { BATON_HOME: join(cwd, 'home') } }
  const root = join(cwd, '.baton/packs')
  const dir = join(root, 'demo/sums')
  const pack = { namespace: 'demo', name: 'sums', identity: 'demo@sums', dir, root }
  return {
    cwd,
    dir,
    around,
    root,
    read: () => readPackServers(pack, around),
    trust: (): void => {
      const leads = {}
      const entry = { hash: sha256(mcpTrustText(text)), keys: [], since: '', leads }
      writeTrusted(trustFile(around), new Map([[join(dir, '.mcp.json'), entry]]))
    },
  }
}

async function message(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => '',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}

describe('servers of a pack', () => {
  it('are used once its capabilities name them and the user trusts the file', async () => {
    const { read, trust, dir, around, cwd } = world({ calc, other: calc })
    const file = '.baton/packs/demo/sums/.mcp.json'
    const undeclared = {
      file: '.baton/packs/demo/sums/pack.toml',
      names: ['other'],
      isChanged: false,
      pack: 'demo@sums',
      isUndeclared: true,
    }
    expect(isAnyTrusted(around)).toBe(false)
    const untrusted = await read()
    expect(untrusted?.tables).toEqual({})
    expect(untrusted).toMatchObject({
      names: [],
      leftOut: [{ file, names: ['calc'], isChanged: false, pack: 'demo@sums' }, undeclared],
    })
    trust()
    expect(isAnyTrusted(around)).toBe(true)
    const found = await read()
    expect(found).toMatchObject({ names: ['calc'], tables: { calc }, leftOut: [undeclared] })
    if (found === undefined) throw new Error('the pack has a file of servers')
    const { tables, origins } = found
    const [server] = serversOf({ settings: { mcp_servers: tables }, origins, workspace: cwd, env: {}, pack: found })
    expect(server).toMatchObject({ name: 'calc', pack: 'demo@sums', origin: expect.stringContaining('.mcp.json') })
    expect(server?.transport()).toMatchObject({ args: [join(dir, 'server.mjs'), 'none'], cwd: dir })
    writeFileSync(join(dir, '.mcp.json'), JSON.stringify({ mcpServers: { calc: { command: 'evil' } } }))
    expect(await read()).toMatchObject({ names: [], leftOut: [{ names: ['calc'], isChanged: true }] })
    rmSync(join(dir, '.mcp.json'))
    expect(await read()).toBeUndefined()
  })

  it('of a pack without capabilities are for people who work on it with other programs', async () => {
    const { read, trust } = world({ calc }, null)
    trust()
    expect(await read()).toMatchObject({ names: [], leftOut: [{ names: ['calc'], isUndeclared: true }] })
  })

  it('are replaced by those of the settings, also if these are disabled', async () => {
    const { read, trust } = world({ calc, two: calc, off: { ...calc, enabled: false } }, manifest('"*"'))
    trust()
    const found = await read()
    if (found === undefined) throw new Error('the pack has a file of servers')
    expect(found.names).toEqual(['calc', 'two'])
    expect(withoutNamed(found, { mcp_servers: { calc: { enabled: false } } })).toMatchObject({
      names: ['two'],
      tables: { two: calc },
    })
  })

  it('that are invalid JSON, or have invalid names, are reported by check', async () => {
    expect(await world('{').read()).toMatchObject({ leftOut: [], notes: [{ code: 'CONFIG_INVALID' }] })
    const odd = await world({ '../../x': calc }, manifest('"*"')).read()
    const problem = expect.stringContaining('"../../x" cannot be the name of a server')
    expect(odd).toMatchObject({ names: [], leftOut: [{ names: ['../../x'], problem }], notes: [{ message: problem }] })
  })

  it.each([
    ['../../x', []],
    ['${PACK_DIR}/../x', []],
    ['node', ['../../x']],
    ['node', ['${PACK_DIR}/lib/../../x']],
    ['node', ['${PACK_DIR:-x}/..']],
  ])('that lead out of its folder are omitted: %s %j', async (command, args) => {
    const { read, trust } = world({ calc: { command, args }, sums: calc }, manifest('"*"'))
    trust()
    const problem = expect.stringContaining('leads out of the folder of the pack')
    expect(await read()).toMatchObject({ names: ['sums'], leftOut: [{ names: ['calc'], problem }] })
  })

  it.each(['..', '/tmp', '${PACK_DIR}/../..'])('that work in another folder are omitted: %s', async (cwd) => {
    const { read, trust } = world({ calc: { ...calc, cwd } })
    trust()
    const problem = expect.stringContaining('leads out of the folder of the pack')
    const found = await read()
    expect(found?.tables).toEqual({})
    expect(found).toMatchObject({ names: [], leftOut: [{ names: ['calc'], problem }] })
  })

  it('are found for all packs, and errors in one do not hide the others', async () => {
    const { root, around, trust } = world('{')
    trust()
    const problems: unknown[] = []
    expect(await readAllPackServers([root, userPacks(around)], around, (error) => problems.push(error))).toEqual([])
    expect(problems).toMatchObject([{ code: 'CONFIG_INVALID' }])
    expect(await message(readAllPackServers([root], around))).toContain('is not valid JSON')
  })
})
