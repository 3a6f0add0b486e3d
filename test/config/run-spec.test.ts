import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { codeFrame } from '../../src/base/code-frame.ts'
import { isBatonError } from '../../src/base/error.ts'
import { issuesOf, issueText } from '../../src/settings/issue.ts'
import type { Environment } from '../../src/config/locate.ts'
import { describeOrigins } from '../../src/config/layers.ts'
import { loadRunSpec, placeInPrompt, settingsFor, type RunSpec } from '../../src/config/run-spec.ts'
import { loadTargetConfig, type TargetConfig } from '../../src/config/target-config.ts'
import { tempTree } from '../helpers/temp.ts'

interface Given {
  readonly files: { readonly [path: string]: string }
  readonly env?: Environment
  readonly model?: string
  readonly overrides?: readonly string[]
}

/** Loads `p.md` of a fresh workspace; `user.toml`, if given, is the user's config file. */
function load(given: Given, root = rootOf(given)): Promise<RunSpec> {
  return loadRunSpec({ ...optionsOf(given, root), file: 'p.md' })
}

function loadTarget(given: Given, root = rootOf(given)): Promise<TargetConfig> {
  return loadTargetConfig(optionsOf(given, root))
}

function rootOf({ files: { 'user.toml': user, ...files } }: Given): string {
  return tempTree({ ...files, '.git/HEAD': '', ...(user === undefined ? {} : { 'home/config/config.toml': user }) })
}

function optionsOf({ env = {}, model, overrides = [] }: Given, root: string): Parameters<typeof loadTargetConfig>[0] {
  const flags = { overrides, ...(model === undefined ? {} : { model }) }
  return { cwd: root, env: { BATON_HOME: join(root, 'home'), ...env }, home: '/nowhere', flags }
}

/** The error as displayed. */
async function failure(loading: Promise<unknown>, root = ''): Promise<string> {
  const error: unknown = await loading.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isBatonError(error)) return `no BatonError but ${String(error)}`
  const { code, message, hint, place } = error
  const at = { line: place?.line ?? 0, ...(place?.column === undefined ? {} : { column: place.column }) }
  const frame = place?.text === undefined ? '(not shown)' : codeFrame(place.text, at, { context: 0 })
  return `${code} ${message}\n${place?.file}\n${frame}\n${hint}`.replaceAll(root || '\0', '<root>')
}

describe('a run spec', () => {
  it('contains what the file sets, with defaults for the rest', async () => {
    const spec = await load({ files: { 'p.md': '+++\nmodel = "m"\n+++\nDo it.\n' } })
    expect(spec).toMatchObject({
      file: join(spec.workspace, 'p.md'),
      promptDir: spec.workspace,
      frontMatter: { model: 'm' },
      agents: [],
      warnings: [],
      document: { file: 'p.md', instruction: 'Do it.' },
    })
    expect(spec.settings).toStrictEqual({
      model: 'm',
      model_aliases: {},
      input_concurrency: 2,
      base_dir: spec.workspace,
      globs: { context: [], knowledge: [], structure: [], working: [] },
      max_files_size_kb: 1500,
      allow_run_on_task_fail: false,
      lua: { engine: 'lua54', isolated: 'installed', timeout_ms: 60_000, memory_mb: 256, instructions: 1e12 },
      write_mode: false,
      file_content_mode: 'udiffx',
      partial: false,
      template: false,
      fallback_models: [],
      retry: {
        max_attempts: 3,
        initial_backoff_ms: 100,
        max_backoff_ms: 10_000,
        backoff_multiplier: 2,
        jitter_factor: 0.5,
      },
      timeouts: { connect_ms: 10_000, headers_ms: 30_000, stream_idle_ms: 300_000, request_ms: 3_600_000 },
      budget: { unpriced: 'deny' },
      changes: { repair: 1, partial_is_success: false, max_bytes: 256 * 1024 * 1024 },
      code: { timeout: '30s', memory_mb: 64, stream: true, auto_approve: false },
      prices: {},
      providers: {},
      secrets: [],
      runs: { max_bytes: 2 * 1024 ** 3 },
      sandbox: { network: [], scripts: false, memory_mb: 4096, processes: 512, file_mb: 2048, tmp_mb: 1024 },
    })
  })

  it('has the limits of model calls that are configured, each separately (R302)', async () => {
    const toml = `retry = { patience = "90s", max_attempts = 5 }
timeouts = { connect = "2s", request = "30s" }
budget = { usd = 0.5, calls = 3, unpriced = "deny" }`
    const { settings } = await load({ files: { 'p.md': `+++\n${toml}\n+++\nDo it.\n` } })
    expect(settings.retry).toMatchObject({ max_attempts: 5, patience_ms: 90_000, max_backoff_ms: 10_000 })
    expect(settings.timeouts).toEqual({
      connect_ms: 2000,
      headers_ms: 30_000,
      stream_idle_ms: 300_000,
      request_ms: 30_000,
    })
    expect(settings.budget).toEqual({ usd: 0.5, calls: 3, unpriced: 'deny' })
  })

  it('initializes coder_params without sub_agents and [params], and with the three lists of globs (R248 to R250)', async () => {
    const toml =
      'model = "m"\nknowledge_globs = ["k"]\ntone = "dry"\nsub_agents = ["a"]\n[lua]\ntimeout = "1s"\n[params]\nlevel = 1'
    const spec = await load({ files: { 'p.md': `+++\n${toml}\n+++\n` } })
    expect(spec.params).toStrictEqual({
      context_globs: [],
      structure_globs: [],
      knowledge_globs: ['k'],
      model: 'm',
      tone: 'dry',
      lua: { timeout: '1s' },
      level: 1,
    })
    expect(spec.agents.map(({ name }) => name)).toEqual(['a'])
  })

  it('merges the forms of globs in order and keeps groups', async () => {
    const toml =
      'context_globs_post = ["z"]\ncontext_globs = ["m"]\ncontext_globs_pre = ["a"]\nworking_globs = ["w", ["x", "y"]]'
    const { settings } = await load({ files: { 'p.md': `+++\n${toml}\n+++\n` } })
    expect(settings.globs).toStrictEqual({
      context: ['a', 'm', 'z'],
      knowledge: [],
      structure: [],
      working: ['w', ['x', 'y']],
    })
  })

  it('has the place of a sub-agent', async () => {
    const spec = await load({ files: { 'p.md': '+++\nsub_agents = [\n  "a",\n  { name = "b" },\n]\n+++\n' } })
    expect(await placeInPrompt(spec, ['sub_agents', 1])).toMatchObject({ file: 'p.md', line: 4, column: 3 })
  })

  it('warns of a missing base_dir and of parameters that nothing reads', async () => {
    const spec = await load({ files: { 'p.md': '+++\nbase_dir = "src"\ntone = 1\n+++\n' } })
    expect(spec.warnings.map(issueText)).toEqual([
      'p.md:3: nothing reads the parameter "tone"',
      `p.md:2: base_dir src is not a folder, so globs match nothing`,
    ])
  })
})

describe('layers', () => {
  const files = {
    'user.toml':
      'model = "user"\nseed = 1\n[model_aliases]\nfast = "u"\n[providers.mine]\nbase_url = "http://localhost:1/v1"\n',
    'baton.toml': 'model = "workspace"\ntop_p = 0.5\n[model_aliases]\nslow = "w"\n',
    'p.md': '+++\nmodel = "file"\n[lua]\ntimeout = "5s"\n+++\n',
  }

  it('apply in order: user, workspace, front matter, environment, -c, -m', async () => {
    const { 'p.md': _, ...below } = files
    const plain = { ...below, 'p.md': 'Text.' }
    const env = { BATON_MODEL: 'environment' }
    const overrides = ['model=flag']
    expect((await load({ files: { 'user.toml': files['user.toml'], 'p.md': '' } })).settings.model).toBe('user')
    expect((await load({ files: plain })).settings.model).toBe('workspace')
    expect((await load({ files })).settings.model).toBe('file')
    expect((await load({ files, env })).settings.model).toBe('environment')
    expect((await load({ files, env, overrides })).settings.model).toBe('flag')
    expect((await load({ files, env, overrides, model: 'm' })).settings.model).toBe('m')
  })

  it('have the origin of each value, with its line', async () => {
    const spec = await load({
      files,
      env: { BATON_MODEL: 'e', BATON_GATEWAY_URL: 'http://u:p@g/v1' },
      overrides: ['seed=2'],
    })
    const rows = await describeOrigins(spec)
    expect(rows.map(({ key, value, origin }) => `${key} = ${JSON.stringify(value)} (${origin})`)).toEqual([
      'allow_run_on_task_fail = false (default)',
      'base_dir = "" (default)',
      'budget.unpriced = "deny" (default)',
      'changes.max_size = "256mb" (default)',
      'changes.partial_is_success = false (default)',
      'changes.repair = 1 (default)',
      'code.auto_approve = false (default)',
      'code.memory_mb = 64 (default)',
      'code.stream = true (default)',
      'code.timeout = "30s" (default)',
      'collab.default_wait = "30s" (default)',
      'collab.max_agents = 6 (default)',
      'collab.max_depth = 1 (default)',
      'collab.max_wait = "5m" (default)',
      'collab.min_wait = "10s" (default)',
      'collab.on_stall = "tell" (default)',
      'collab.return_when = "all" (default)',
      'collab.stall_after = "2m" (default)',
      'fallback_models = [] (default)',
      'file_content_mode = "udiffx" (default)',
      'gateway = {"base_url":"http://g/v1"} (BATON_GATEWAY_URL)',
      'input_concurrency = 2 (default)',
      'iterate.assessment = true (default)',
      'iterate.command_timeout = "10m" (default)',
      'iterate.commits = "auto" (default)',
      'iterate.context = true (default)',
      'iterate.on_dirty = "abort" (default)',
      'iterate.score_best = "highest" (default)',
      'iterate.summarizer = "files" (default)',
      'lua.engine = "lua54" (default)',
      'lua.instructions = 1000000000000 (default)',
      'lua.isolated = "installed" (default)',
      'lua.memory_mb = 256 (default)',
      'lua.timeout = "5s" (p.md:4)',
      'max_files_size_kb = 1500 (default)',
      'model = "e" (BATON_MODEL)',
      'model_aliases.fast = "u" (home/config/config.toml:4)',
      'model_aliases.slow = "w" (baton.toml:4)',
      'partial = false (default)',
      'providers.mine = {"base_url":"http://localhost:1/v1"} (home/config/config.toml:5)',
      'retry.backoff_multiplier = 2 (default)',
      'retry.initial_backoff_ms = 100 (default)',
      'retry.jitter_factor = 0.5 (default)',
      'retry.max_attempts = 3 (default)',
      'retry.max_backoff_ms = 10000 (default)',
      'runs.max_size = "2gb" (default)',
      'sandbox.file_mb = 2048 (default)',
      'sandbox.memory_mb = 4096 (default)',
      'sandbox.network = [] (default)',
      'sandbox.processes = 512 (default)',
      'sandbox.scripts = false (default)',
      'sandbox.tmp_mb = 1024 (default)',
      'seed = 2 (-c seed)',
      'timeouts.connect = "10s" (default)',
      'timeouts.headers = "30s" (default)',
      'timeouts.request = "1h" (default)',
      'timeouts.stream_idle = "5m" (default)',
      'top_p = 0.5 (baton.toml:2)',
      'write_mode = false (default)',
    ])
  })

  it('apply to a target without front matter', async () => {
    const { settings } = await loadTarget({ files: { ...files, 'baton.toml': 'timeout = "10m"' } })
    expect(settings).toMatchObject({ model: 'user', timeout_ms: 600_000 })
    expect(settings.providers).toStrictEqual({ mine: { base_url: 'http://localhost:1/v1' } })
  })
})

describe('settings after a chain', () => {
  const files = {
    'baton.toml': 'model = "workspace"',
    'p.md': '+++\nmodel = "file"\nseed = 1\ncontext_globs = ["a"]\nbase_dir = "src"\nsub_agents = ["x"]\n+++\n',
    'src/file': '',
  }

  it('use request keys only from the params and keep the frame', async () => {
    const spec = await load({ files })
    const settings = settingsFor(spec)({ temperature: 0.5, context_globs: ['b'], base_dir: '', tone: 1 })
    expect(settings).toMatchObject({ model: 'workspace', temperature: 0.5, globs: { context: ['b'] } })
    expect(settings.seed).toBeUndefined()
    expect(settings.base_dir).toBe(join(spec.workspace, 'src'))
    expect(settingsFor(spec)(spec.params)).toStrictEqual(spec.settings)
  })

  it('can give up the right to write and budget, and never gain them', async () => {
    const spec = await load({
      files: { 'p.md': '+++\nwrite_mode = true\nbudget = { usd = 2.0, calls = 9 }\n+++\nDo it.\n' },
      overrides: ['budget.usd=1'],
    })
    const { write_mode: writes, budget } = settingsFor(spec)({ write_mode: false, budget: { usd: 0.5, calls: 99 } })
    expect({ writes, budget }).toEqual({ writes: false, budget: { usd: 0.5, calls: 9, unpriced: 'deny' } })
    const more = settingsFor(spec)({ budget: { usd: 1.5, tokens: 1 } }).budget
    expect(more).toEqual({ ...spec.settings.budget, tokens: 1 })
  })

  it('include what a flag allows beyond the front matter, unless the chain gives it up', async () => {
    const spec = await load({
      files: { 'p.md': '+++\nwrite_mode = false\nbudget = { usd = 0.5, calls = 2 }\n+++\nDo it.\n' },
      overrides: ['budget.calls=9', 'write_mode=true'],
    })
    expect(settingsFor(spec)(spec.params)).toStrictEqual(spec.settings)
    const { budget } = settingsFor(spec)({ ...spec.params, budget: { usd: 0.5, calls: 1 } })
    expect(budget).toEqual({ usd: 0.5, calls: 1, unpriced: 'deny' })
  })

  it('let -m and BATON_MODEL win', async () => {
    expect(settingsFor(await load({ files, model: 'm' }))({ model: 'chain' }).model).toBe('m')
    expect(settingsFor(await load({ files, env: { BATON_MODEL: 'e' } }))({ model: 'chain' }).model).toBe('e')
    expect(settingsFor(await load({ files }))({ model: null }).model).toBe('workspace')
  })

  it('name a wrong value', async () => {
    const spec = await load({ files })
    expect(() => settingsFor(spec)({ temperature: 'hot' })).toThrow(
      '"temperature" must be a number from 0 to 2, not "hot"',
    )
    expect(() => settingsFor(spec)({ file_content_mode: 'half' })).toThrow(
      '"file_content_mode" must be one of "udiffx", "whole", "search_replace_auto"',
    )
    expect(() => settingsFor(spec)({ context_globs: ['../x'] })).toThrow(
      'context_globs[0]: the glob "../x" leaves base_dir',
    )
  })
})

describe('the bounds of the workspace', () => {
  it('apply to base_dir with ..', async () => {
    const given = { files: { 'p.md': '+++\nbase_dir = "../x"\n+++\n' } }
    const root = rootOf(given)
    expect(await failure(load(given, root), root)).toMatchInlineSnapshot(`
      "OUTSIDE_WORKSPACE base_dir "../x" is outside the workspace <root>
      p.md
      > 2 | base_dir = "../x"
          |            ^
      Name a folder inside the workspace, or start from the folder you mean (-C)."
    `)
  })

  it('apply to base_dir through a link', async () => {
    const given = { files: { 'baton.toml': 'base_dir = "link/deep"', 'p.md': '' } }
    const root = rootOf(given)
    symlinkSync('/', join(root, 'link'))
    expect(await failure(load(given, root), root)).toMatch(
      /^OUTSIDE_WORKSPACE base_dir "link\/deep" is outside the workspace <root> through a link\nbaton.toml\n> 1 /,
    )
  })

  it('apply to the text of globs', async () => {
    const toml = 'context_globs = ["src/**"]\nworking_globs = ["a", ["b", "!src/../../x"]]'
    expect(await failure(load({ files: { 'p.md': `+++\n${toml}\n+++\n` } }))).toMatchInlineSnapshot(`
      "OUTSIDE_WORKSPACE working_globs[1][1]: the glob "!src/../../x" leaves base_dir
      p.md
      > 3 | working_globs = ["a", ["b", "!src/../../x"]]
          |                             ^
      Globs are relative to base_dir and stay below it: set base_dir, or write a relative glob without ".."."
    `)
  })

  it.each(['/etc/*', '../x', 'a/../../x', '**/../../x', './../x', '{../x,y}', '!/etc/*'])(
    'refuse the glob %s',
    async (glob) => {
      const given = { files: { 'p.md': '' }, overrides: [`structure_globs=["${glob}"]`] }
      expect(await failure(load(given))).toMatch(/^OUTSIDE_WORKSPACE structure_globs\[0\]: /)
    },
  )

  it.each(['src/../lib/*', '..x/*', 'a/{b,..}/c', '**/*', '.hidden', 'a:b'])('allow the glob %s', async (glob) => {
    const { settings } = await load({ files: { 'p.md': '' }, overrides: [`structure_globs=["${glob}"]`] })
    expect(settings.globs.structure).toEqual([glob])
  })
})

describe('trust', () => {
  it('is required for the destination of keys in a prompt file', async () => {
    const given = { files: { 'p.md': '+++\nmodle = 1\nmodel = 2\n[gateway]\nbase_url = "http://evil"\n+++\n' } }
    const root = rootOf(given)
    expect(await failure(load(given, root), root)).toMatchInlineSnapshot(`
      "UNTRUSTED "gateway" may not be set by p.md: the file is not trusted
      p.md
      > 4 | [gateway]
          |  ^
      If you want it, look at the file and run baton trust p.md, or put it into your own config file <root>/home/config/config.toml."
    `)
  })

  it.each(['providers.a.base_url = "http://evil"', 'mcp_servers = {}', 'plugins = []'])(
    'is required in a workspace file for %s',
    async (toml) => {
      const given = { files: { '.baton/config.toml': `seed = 1\n${toml}`, 'p.md': '' } }
      expect(await failure(load(given))).toMatch(/^UNTRUSTED "\w+" may not be set by .baton\/config.toml: .*\n.*\n> 2 /)
      expect(await failure(loadTarget(given))).toMatch(/^UNTRUSTED/)
    },
  )

  it('is not required from the user', async () => {
    const given = { files: { 'user.toml': '[mcp_servers.a]\ncommand = "x"\n', 'p.md': '' } }
    expect((await load(given)).settings.mcp_servers).toEqual({ a: { command: 'x' } })
  })
})

describe('rules of [permission]', () => {
  const files = {
    'user.toml': 'seed = 1\n[permission]\ntodo = "ask"\n',
    'baton.toml': 'permission.bash = { "rm *" = "deny", "npm *" = "allow" }\n',
    'p.md': '+++\n[permission]\ntodo = "allow"\n\n[permission.read]\n"keys/**" = "deny"\n+++\nHi\n',
  }
  const overrides = ['permission.bash.git log=allow']
  const lines = async (given: Given): Promise<readonly string[]> =>
    ((await load(given)).settings.permission ?? []).map(
      ({ tool, pattern = '', effect, origin, tightens = 'full' }) =>
        `${tool} ${pattern}: ${effect}, ${origin.replace(/^.*\/(?=home\/)/, '')}, ${tightens}`,
    )

  it('of all sources have their lines, and those of a folder restrict without an error', async () => {
    expect(await lines({ files, overrides })).toEqual([
      'todo : ask, home/config/config.toml:3, full',
      'bash rm *: deny, baton.toml:1, baton.toml',
      'bash npm *: allow, baton.toml:1, baton.toml',
      'todo : allow, p.md:3, p.md',
      'read keys/**: deny, p.md:6, p.md',
      'bash git log: allow, -c permission.bash.git log, full',
    ])
    expect(await lines({ files: { 'p.md': '+++\nseed = 1\n+++\n' } })).toEqual([])
    expect((await load({ files: { 'p.md': '' } })).settings).not.toHaveProperty('permission')
  })

  it('are checked wherever they come from', async () => {
    const wrong = { files: { 'baton.toml': '[permission]\ntodo = "maybe"\n', 'p.md': '' } }
    expect(await failure(load(wrong))).toContain('"permission.todo" must be "allow", "ask", "deny", or a table')
  })
})

describe('config files', () => {
  it('have checked values with places', async () => {
    const given = {
      files: { 'baton.toml': 'temperature = "hot"\nmodle = 1\nname = "x"\n', 'p.md': '+++\nseed = "s"\n+++\n' },
    }
    const error: unknown = await load(given).catch((reason: unknown) => reason)
    expect(
      issuesOf(error).map(({ message, place }) => `${place?.file}:${place?.line}:${place?.column} ${message}`),
    ).toEqual([
      'baton.toml:1:15 "temperature" must be a number from 0 to 2, not "hot"',
      'baton.toml:2:1 unknown key "modle"',
      'baton.toml:3:1 "name" can only be set in a prompt file',
      'p.md:2:8 "seed" must be a whole number, not "s"',
    ])
  })

  it('with a syntax error report the line', async () => {
    expect(await failure(loadTarget({ files: { 'baton.toml': '\uFEFFseed = 1\nmodel = x\n' } })))
      .toMatchInlineSnapshot(`
      "CONFIG_INVALID baton.toml is not valid TOML: invalid value
      baton.toml
      > 2 | model = x
          |         ^
      Put text in quotes: model = "x"."
    `)
  })

  it('never show a line that may contain a key', async () => {
    const toml = '[providers.a]\nbase_url = "http://a"\napi_key = "sk-123"\n'
    const text = await failure(loadTarget({ files: { 'user.toml': toml } }))
    expect(text).toMatch(
      /^CONFIG_INVALID unknown key "api_key" in providers.a\nhome\/config\/config.toml\n\(not shown\)/,
    )
    expect(text).not.toContain('sk-123')
  })
})

describe('files that cannot be read', () => {
  it('are errors', async () => {
    expect(await failure(loadRunSpec({ ...optionsOf({ files: {} }, '/tmp'), file: 'no-such.md' }))).toMatch(
      /^FILE_UNREADABLE there is no file \/tmp\/no-such.md/,
    )
  })
})
