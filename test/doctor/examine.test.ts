import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Check, DoctorInput } from '../../src/doctor/check.ts'
import { examine } from '../../src/doctor/examine.ts'
import { runsFolder } from '../../src/journal/run-id.ts'
import { noteWorktrees, removeEndedWorktrees } from '../../src/journal/worktrees.ts'
import { root } from '../helpers/baton.ts'
import { hasBox } from '../helpers/box.ts'
import { tempTree } from '../helpers/temp.ts'
import { makeRun } from '../history/fixtures.ts'

interface World {
  readonly files?: { readonly [path: string]: string }
  readonly env?: DoctorInput['env']
  readonly patient?: Partial<DoctorInput>
}

/** Examines a test project and home folder: nothing of this machine except its programs. */
async function look({ files = {}, env = {}, patient = {} }: World): Promise<readonly Check[]> {
  const folder = tempTree({ 'project/baton.toml': '', 'home/x': '', ...files })
  return examine({
    cwd: join(folder, 'project'),
    env: { PATH: process.env['PATH'], BATON_LOCAL_SERVERS: 'off', ...env },
    home: join(folder, 'home'),
    overrides: [],
    signal: new AbortController().signal,
    root,
    version: '1.2.3',
    node: { version: '20.19.0', platform: 'linux', arch: 'x64' },
    terminal: { out: true, err: true, columns: 80 },
    ...patient,
  })
}

function of(checks: readonly Check[], name: string): readonly string[] {
  return checks.filter((check) => check.name === name).map(({ status, message }) => `${status} ${message}`)
}

/** Ignores that this machine cannot create sandboxes. */
function problems(checks: readonly Check[]): readonly string[] {
  return checks
    .filter(({ status, name }) => (status === 'warn' || status === 'fail') && (hasBox || name !== 'sandbox'))
    .map(({ status, name }) => `${status} ${name}`)
}

/** A server for local models, and the requests it received. */
async function localServer(ids: readonly string[]): Promise<{
  readonly host: string
  readonly seen: readonly string[]
  readonly close: () => Promise<void>
}> {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no key'}`)
    response.end(JSON.stringify({ data: ids.map((id) => ({ id })) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, seen, close }
}

describe('doctor on an empty machine', () => {
  it('warns that no model is available, and reports no errors', async () => {
    const checks = await look({})
    expect(problems(checks)).toEqual(['warn model'])
    expect(of(checks, 'keys')).toEqual(['note none is set'])
    expect(of(checks, 'servers')).toEqual(['note not checked, because BATON_LOCAL_SERVERS is off'])
    expect(of(checks, 'model')[0]).toContain('offline::extractive: no key is set')
    expect(of(checks, 'lua')).toEqual(['ok lua54 runs'])
    expect(of(checks, 'git')[0]).toMatch(/^ok \d+\./)
    expect(of(checks, 'packs')).toEqual(['ok baton@core'])
    for (const { status, name, hint } of checks) {
      if (status === 'warn' || status === 'fail') expect(hint, name).toBeDefined()
    }
  })

  it('says which folder is the workspace', async () => {
    expect(of(await look({}), 'workspace')[0]).toMatch(/\/project, because of baton\.toml$/)
    const without = await look({ patient: { cwd: tempTree() } })
    expect(of(without, 'workspace')).toEqual(['note none: the current folder is used'])
  })
})

describe('doctor with a key', () => {
  const env = { ANTHROPIC_API_KEY: 'sk-very-secret' }

  it('names the variable and the model that it selects, never the value', async () => {
    const checks = await look({ env })
    expect(problems(checks)).toEqual([])
    expect(of(checks, 'keys')).toEqual(['ok ANTHROPIC_API_KEY (values are not shown)'])
    expect(of(checks, 'model')[0]).toMatch(/^ok anthropic::\S+: ANTHROPIC_API_KEY is the first key that is set$/)
    expect(of(checks, 'aliases')[0]).toMatch(
      /^ok normal is anthropic::\S+, high is anthropic::\S+, fast is anthropic::/,
    )
    expect(JSON.stringify(checks)).not.toContain('sk-very-secret')
  })

  it('says where the model is configured, and that its key is missing', async () => {
    const files = { 'project/baton.toml': '# mine\nmodel = "claude-x"\n' }
    expect(of(await look({ env, files }), 'model')).toEqual([
      'ok anthropic::claude-x: "claude-x" is set by baton.toml:2',
    ])
    const checks = await look({ files })
    expect(problems(checks)).toEqual(['fail model'])
    expect(checks.find(({ name }) => name === 'model')?.hint).toContain('ANTHROPIC_API_KEY')
    expect(of(await look({ env: { ...env, BATON_MODEL: 'claude-y' }, files }), 'model')[0]).toContain('by BATON_MODEL')
  })

  it('reports a key that cannot be sent, without showing it', async () => {
    const checks = await look({ env: { OPENAI_API_KEY: 'sk secret' } })
    expect(problems(checks)).toEqual(['warn keys', 'fail model'])
    expect(JSON.stringify(checks)).not.toContain('sk secret')
  })

  it('reports addresses in the environment, and invalid ones', async () => {
    const right = await look({ env: { ...env, ANTHROPIC_BASE_URL: 'https://proxy.example/x?token=t' } })
    expect(of(right, 'address')).toEqual(['ok ANTHROPIC_BASE_URL points to proxy.example'])
    const wrong = await look({ env: { OPENAI_BASE_URL: 'https://me:secret@host/v1' } })
    expect(of(wrong, 'address')).toEqual(['warn the base URL of OPENAI_BASE_URL contains a user name or a password'])
    expect(JSON.stringify([right, wrong])).not.toMatch(/token|secret@/)
  })

  it('reports keys that the config names but that are not set', async () => {
    const text = '[providers.mine]\nbase_url = "https://host.example/v1"\napi_key_env = "MY_KEY"\n'
    const checks = await look({ files: { 'home/.config/baton/config.toml': text } })
    expect(of(checks, 'keys')).toContain('warn providers.mine needs MY_KEY, which is not set')
  })
})

describe('doctor with a local server', () => {
  it('asks it for its models without a key, and says that the first one will be used', async () => {
    const server = await localServer(['embed-small', 'small:8b', 'big:70b'])
    try {
      const checks = await look({ env: { BATON_LOCAL_SERVERS: '', OLLAMA_HOST: server.host } })
      expect(of(checks, 'servers')[0]).toBe(`ok ollama on ${server.host} has embed-small, small:8b, big:70b`)
      expect(of(checks, 'model')).toEqual([`ok ollama::small:8b: no key is set, and ollama on ${server.host} has it`])
      expect(problems(checks)).toEqual([])
      expect(server.seen).toEqual(['GET /v1/models no key'])
    } finally {
      await server.close()
    }
  })

  it('sends no key to it even if one is set', async () => {
    const server = await localServer([])
    try {
      const checks = await look({ env: { BATON_LOCAL_SERVERS: '', OLLAMA_HOST: server.host, OPENAI_API_KEY: 'sk' } })
      expect(of(checks, 'servers')[0]).toBe(`warn ollama on ${server.host} has no model`)
      expect(server.seen).toEqual(['GET /v1/models no key'])
    } finally {
      await server.close()
    }
  })

  it('contacts no other machine', async () => {
    const checks = await look({ env: { BATON_LOCAL_SERVERS: '', OLLAMA_HOST: 'models.example' } })
    expect(of(checks, 'servers').join('\n')).toContain('OLLAMA_HOST is not on this machine: it is not contacted')
  })
})

describe('doctor reports', () => {
  it('config files, with every problem and its line', async () => {
    const checks = await look({ files: { 'project/baton.toml': 'modle = "x"\ntemperature = "hot"\n' } })
    expect(of(checks, 'config')).toEqual([
      'fail baton.toml:1: unknown key "modle"',
      'fail baton.toml:2: "temperature" must be a number from 0 to 2, not "hot"',
    ])
    expect(of(checks, 'model')).toEqual(['note not checked, because the config is invalid'])
  })

  it('TOML that cannot be parsed', async () => {
    const checks = await look({ files: { 'home/.config/baton/config.toml': 'model = \n' } })
    expect(problems(checks)).toEqual(['fail config'])
  })

  it('an old version of Node', async () => {
    const checks = await look({ patient: { node: { version: '20.9.1', platform: 'linux', arch: 'x64' } } })
    expect(of(checks, 'node')).toEqual(['fail 20.9.1 on linux x64'])
  })

  it('a folder for runs that cannot be created', async () => {
    const checks = await look({
      files: { 'home/.config/baton/config.toml': '[runs]\ndir = "file/runs"\n', 'project/file': '' },
    })
    expect(of(checks, 'runs')[0]).toMatch(
      /^fail cannot be recorded: no file can be created in .*\/project\/file\/runs\/.*is not a folder\)$/,
    )
  })

  it('a folder of runs that cannot be listed', async () => {
    const loop = join(tempTree(), 'loop')
    symlinkSync('loop', loop)
    const checks = await look({ files: { 'home/.config/baton/config.toml': `[runs]\ndir = "${loop}"\n` } })
    expect(of(checks, 'runs').at(-1)).toMatch(/^fail the runs in .*\/loop\/.* cannot be listed: ELOOP/)
  })

  it('faulty manifests of packs, and a missing git', async () => {
    const files = { 'project/.baton/packs/ns/p/pack.toml': '[baton]\nmerge = "mix"\n' }
    const checks = await look({ files, env: { PATH: tempTree() } })
    expect(problems(checks)).toEqual(['warn model', 'warn packs', 'warn git', ...(hasBox ? ['warn sandbox'] : [])])
    expect(of(checks, 'packs')[0]).toBe('ok baton@core, ns@p')
  })

  it('packs with the name of the built-in pack', async () => {
    const checks = await look({ files: { 'project/.baton/packs/baton/core/main.aip': '' } })
    expect(of(checks, 'packs')).toEqual([
      'ok baton@core',
      expect.stringMatching(/^warn .*\/packs\/baton\/core is not used: baton@core is the pack of the agents/),
    ])
  })
})

it('doctor runs the configured engine', async () => {
  const files = { 'project/baton.toml': '[lua]\nengine = "fengari"\n' }
  expect(of(await look({ files }), 'lua')).toEqual(['ok fengari runs'])
})

describe('MCP servers', () => {
  it('are looked up, not started', async () => {
    const files = {
      'home/.config/baton/config.toml': `[mcp_servers.here]
command = "${process.execPath}"
[mcp_servers.gone]
command = "no-such-program"
[mcp_servers.key]
url = "http://127.0.0.1:9/mcp"
bearer_token_env = "NOT_SET_HERE"
[mcp_servers.web]
url = "http://127.0.0.1:9/mcp?key=1"
`,
      'project/.mcp.json': '{"mcpServers": {"theirs": {"command": "x"}}}',
    }
    const shown = of(await look({ files }), 'mcp').map((line) => line.replaceAll(/\/\S+\/(?=config\.toml)/g, ''))
    expect(shown).toEqual([
      `ok here is started as ${process.execPath} (config.toml:1); baton mcp list --check starts it`,
      'warn gone needs no-such-program, which is not found',
      'warn the MCP server key needs the variable NOT_SET_HERE, which is not set',
      'ok web is at 127.0.0.1:9 (config.toml:8); baton mcp list --check contacts it',
      'note the server theirs of .mcp.json is left out: the file is not trusted',
    ])
  })

  it('are not listed if there are none', async () => {
    expect(of(await look({}), 'mcp')).toEqual([])
  })
})

describe('files left by killed runs', () => {
  it('are reported with the command that removes them', async () => {
    const [ended, interrupted, gone] = ['20261122-054821-6780e1', '20261122-054822-6780e2', '20261122-054823-6780e3']
    const folder = tempTree({
      'project/baton.toml': '',
      'project/.git/HEAD': 'ref: refs/heads/main\n',
      'project/.git/objects/x': '',
      'project/.git/refs/x': '',
      'project/.git/worktrees/lost/gitdir': `/state/${gone}/worktrees/lost/.git\n`,
      'project/.git/worktrees/other/gitdir': '/somewhere/other/.git\n',
      'home/x': '',
    })
    const patient = {
      cwd: join(folder, 'project'),
      home: join(folder, 'home'),
      overrides: [`runs.dir="${join(folder, 'runs')}"`],
    }
    await look({ patient })
    const runs = runsFolder({ ...patient, env: {}, workspace: patient.cwd, runsDir: join(folder, 'runs') })
    const done = await makeRun({ runs, id: ended })
    await done.end()
    const killed = await makeRun({ runs, id: interrupted })
    await killed.journal.close()
    for (const id of [ended, interrupted]) {
      mkdirSync(join(runs, id, 'worktrees/a'), { recursive: true })
      noteWorktrees(join(runs, id))
    }
    expect(of(await look({ patient }), 'left').filter((text) => !text.includes('temporary'))).toEqual([
      `note the work tree of ${ended}, which has ended, is still there`,
      `note ${interrupted} was interrupted and keeps its work tree`,
      `note git knows work trees of runs that are gone: /state/${gone}/worktrees/lost`,
    ])
    await removeEndedWorktrees(runs, patient.cwd)
    const kept = [ended, interrupted].map((id) => readdirSync(join(runs, id)).includes('worktrees'))
    expect(kept).toEqual([false, true])
    expect(readFileSync(join(runs, 'worktrees.txt'), 'utf8')).toBe(`${interrupted}\n`)
  })
})
