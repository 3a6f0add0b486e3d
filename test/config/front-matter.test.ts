import { describe, expect, it } from 'vitest'
import { codeFrame } from '../../src/base/code-frame.ts'
import { type CheckedFrontMatter, checkFrontMatter } from '../../src/config/front-matter.ts'
import { issuesOf, issuesToError, type Issue } from '../../src/settings/issue.ts'
import { parsePrompt } from '../../src/prompt/document.ts'

async function check(toml: string): Promise<CheckedFrontMatter> {
  return checkFrontMatter(await parsePrompt('p.md', `+++\n${toml}\n+++\nDo it.\n`), { userFile: '~/config.toml' })
}

function line({ code, message, hint, place }: Issue): string {
  return `${place?.line}:${place?.column} ${code} ${message} | ${hint}`
}

async function issues(toml: string): Promise<readonly string[]> {
  return (await check(toml)).issues.map(line)
}

/** The first issue as displayed. */
async function shown(toml: string): Promise<string> {
  const [issue] = (await check(toml)).issues
  if (issue === undefined) return 'no issue'
  const { message, hint, place } = issue
  const at = { line: place?.line ?? 0, ...(place?.column === undefined ? {} : { column: place.column }) }
  return `${message}\n${codeFrame(place?.text ?? '', at, { context: 1 })}\n${hint}`
}

it('keys of config files alone are parameters like any others', async () => {
  const reader = 'sub_agents = ["prompt-refiner"]\n'
  const { values, params, issues: found, warnings } = await check(`${reader}run = { unattended = true }`)
  expect({ values, params, found, warnings }).toEqual({
    values: {},
    params: { run: { unattended: true } },
    found: [],
    warnings: [],
  })
  expect(await check(`${reader}[params]\nrun = 1`)).toMatchObject({ issues: [], params: { run: 1 } })
})

describe('types', () => {
  it('are checked, and the error points at the value', async () => {
    expect(await shown('model = "m"\ntemperature = "hot"')).toMatchInlineSnapshot(`
      ""temperature" must be a number from 0 to 2, not "hot"
        2 | model = "m"
      > 3 | temperature = "hot"
          |               ^
        4 | +++
      Write a number from 0 to 2."
    `)
  })

  it.each([
    ['context_globs = "src/*.ts"', 'Write ["src/*.ts"]: a list of globs.'],
    ['tools = "read"', 'Write ["read"]: a list of tool names.'],
    ['temperature = "0.2"', 'Write a number from 0 to 2, without quotes.'],
    ['template = "true"', 'Write true or false, without quotes.'],
    ['timeout = 30', 'Write it with its unit: "30s".'],
    ['budget = 0.5', 'Write [budget] and one key = value on each line below it.'],
    ['input.name = "Bob"', 'Write [input.name] and one key = value on each line below it.'],
    ['test = [3]', 'Write a table.'],
  ])('are said as they have to be written, if what was meant is certain: %s', async (line, hint) => {
    const { issues: found } = await check(line)
    expect(found).toMatchObject([{ hint }])
  })

  it.each([
    ['model = ""', '"model" must be non-empty text, not empty text'],
    ['model = 3', '"model" must be text, not the number 3'],
    ['top_p = 1.5', '"top_p" must be a number from 0 to 1, not the number 1.5'],
    ['max_tokens = 0.5', '"max_tokens" must be a whole number of at least 1, not the number 0.5'],
    ['input_concurrency = 0', '"input_concurrency" must be a whole number from 1 to 1000, not the number 0'],
    ['allow_run_on_task_fail = "yes"', '"allow_run_on_task_fail" must be true or false, not "yes"'],
    ['context_globs = "a"', '"context_globs" must be a list of globs, not "a"'],
    ['context_globs_pre = ["a", 1]', '"context_globs_pre[1]" must be text, not the number 1'],
    ['working_globs = ["a", ["b", 1]]', '"working_globs[1][1]" must be text, not the number 1'],
    ['working_globs = [true]', '"working_globs[0]" must be a glob or a list of globs, not true'],
    ['model_aliases = { fast = 1 }', '"model_aliases.fast" must be text, not the number 1'],
    ['lua = { timeout = "soon" }', '"lua.timeout" must be a duration such as "30s" or "10m", not "soon"'],
    ['lua = [1]', '"lua" must be a table, not a list'],
    ['secrets = ["MY-KEY"]', '"secrets[0]" must be the name of an environment variable'],
    ['mode = 3', '"mode" must be text, not the number 3'],
    ['write_mode = "no"', '"write_mode" must be true, false or "ask", not "no"'],
    ['params = 1', '"params" must be a table'],
  ])('are checked: %s', async (toml, message) => {
    expect((await check(toml)).issues.map((issue) => issue.message)).toEqual([message])
  })

  it('accept the values in the documentation', async () => {
    const toml = `
      name = "n"
      description = "d"
      model = "gpt-5-mini-low"
      model_aliases = { fast = "gpt-5-mini" }
      temperature = 0.5
      top_p = 1
      max_tokens = 100
      reasoning_effort = "low"
      seed = -1
      input_concurrency = 8
      mode = "classic"
      write_mode = false
      instructions = false
      base_dir = ""
      context_globs = ["src/**/*.ts"]
      working_globs = ["src/*.ts", ["a.md", "b.md"]]
      working_globs_post = []
      max_files_size_kb = 10
      allow_run_on_task_fail = true
      secrets = ["TOKEN"]
      lua = { engine = "fengari", isolated = true, timeout = "250ms", memory_mb = 64, instructions = 1000 }`
    const { issues: found, values } = await check(toml)
    expect(found).toEqual([])
    expect(values).toMatchObject({ seed: -1, lua: { timeout: '250ms' }, working_globs_post: [] })
  })
})

describe('keys of reserved tables', () => {
  it('that are unknown are errors with the nearest known key', async () => {
    expect(await shown('[lua]\nmemory_mb = 64\ntimout = "5s"')).toMatchInlineSnapshot(`
      "unknown key "timout" in lua
        3 | memory_mb = 64
      > 4 | timout = "5s"
          | ^
        5 | +++
      Did you mean "timeout"?"
    `)
  })

  it('that resemble nothing are errors with the known keys', async () => {
    expect(await issues('runs = { zzz = 1 }')).toEqual([
      '2:10 CONFIG_INVALID unknown key "zzz" in runs | Known keys of runs: dir, keep, max_size.',
    ])
  })
})

describe('top-level keys that are not reserved', () => {
  it('are params', async () => {
    const { params, issues: found } = await check('tone = "dry"\nlevels = [1, 2]\nsub_agents = ["a"]\n[deep]\nx = 1')
    expect(found).toEqual([])
    expect(params).toStrictEqual({ tone: 'dry', levels: [1, 2], deep: { x: 1 } })
  })

  it.each([
    ['modle = "m"', 'modle', 'model'],
    ['mdel = "m"', 'mdel', undefined],
    ['context_glob = []', 'context_glob', 'context_globs'],
    ['contetx_globs = []', 'contetx_globs', 'context_globs'],
    ['temprature = 1', 'temprature', 'temperature'],
    ['Model = "m"', 'Model', 'model'],
    ['base-dir = "x"', 'base-dir', 'base_dir'],
    ['maxTokens = 1', 'maxTokens', 'max_tokens'],
    ['subagents = []', 'subagents', 'sub_agents'],
    ['too_ls = 1', 'too_ls', 'tools'],
    ['runz = 1', 'runz', undefined],
    ['codes = 1', 'codes', undefined],
  ])('are errors when they are certainly misspelt: %s', async (toml, key, meant) => {
    const messages = (await check(toml)).issues.map(({ message }) => message)
    expect(messages).toEqual(meant === undefined ? [] : [`unknown key "${key}"; did you mean "${meant}"?`])
  })

  it('explain the alternatives', async () => {
    expect(await shown('agent_hint = 1\ntemprature = 1')).toMatchInlineSnapshot(`
      "unknown key "temprature"; did you mean "temperature"?
        2 | agent_hint = 1
      > 3 | temprature = 1
          | ^
        4 | +++
      Write temperature; if it really is your own parameter, put it in [params]."
    `)
  })

  it('that nothing reads are one warning each', async () => {
    const { warnings, issues: found } = await check('tone = "dry"\n[params]\nlevel = 1')
    expect(found).toEqual([])
    expect(warnings.map(line)).toEqual([
      '2:1 CONFIG_INVALID nothing reads the parameter "tone" | Name an agent in sub_agents that reads it, or remove it.',
      '4:1 CONFIG_INVALID nothing reads the parameter "level" | Name an agent in sub_agents that reads it, or remove it.',
    ])
    expect((await check('tone = "dry"\nsub_agents = ["a"]')).warnings).toEqual([])
    expect((await check('tone = "dry"\nsub_agents = []')).warnings).toHaveLength(1)
  })
})

describe('[params]', () => {
  it('is used verbatim and added to the params', async () => {
    const { params, issues: found } = await check(
      'sub_agents = ["a"]\ntone = 1\n[params]\ncontext_glob = "x"\nModle = 2',
    )
    expect(found).toEqual([])
    expect(params).toStrictEqual({ tone: 1, context_glob: 'x', Modle: 2 })
  })

  it('have the name of a new setting with a warning, unless the value is one of it, and without one in [params]', async () => {
    const found = async (toml: string) => {
      const { params, values, issues: errors, warnings } = await check(`sub_agents = ["a"]\n${toml}`)
      return [params, values['watch'], errors.length, warnings.map(line)]
    }
    for (const key of ['batch', 'compact_at']) {
      const { params, issues: errors, warnings } = await check(`sub_agents = ["a"]\n${key} = ["src"]`)
      expect([params, errors, warnings.map(({ message }) => message)]).toEqual([
        { [key]: ['src'] },
        [],
        [`"${key}" is a setting now, and this is none of its values: it is passed as a parameter`],
      ])
    }
    expect(await found('watch = "prompt"')).toEqual([{}, 'prompt', 0, []])
    expect(await found('[params]\nwatch = ["src"]')).toEqual([{ watch: ['src'] }, undefined, 0, []])
    expect(await found('watch = ["src"]')).toEqual([
      { watch: ['src'] },
      undefined,
      0,
      [
        '3:1 CONFIG_INVALID "watch" is a setting now, and this is none of its values: it is passed as a parameter | Put it into [params], or see watch in docs/prompt-file.md.',
      ],
    ])
  })

  it('may not contain the name of a reserved key, or a duplicate key', async () => {
    expect(await issues('tone = 1\n[params]\nmodel = "m"\ntone = 2')).toEqual([
      '4:1 CONFIG_INVALID "model" in [params] is the name of a reserved key | Choose another name.',
      '5:1 CONFIG_INVALID duplicate key "tone": it is set at the top level and in [params] | Keep one of them.',
    ])
  })
})

describe('unsupported keys', () => {
  it('are an error that says so', async () => {
    expect(await shown('instructions = "auto"')).toContain('instructions = "auto" is not available in this version')
  })

  it.each([['instructions = "auto"', 'instructions = "auto"']])('may be certain values: %s', async (toml, text) => {
    const { issues: found } = await check(toml)
    expect(found.map(({ code, message }) => `${code} ${message}`)).toEqual([
      `NOT_AVAILABLE ${text} is not available in this version`,
    ])
  })
})

describe('keys that need trust', () => {
  it.each(['providers', 'gateway', 'mcp_servers', 'plugins'])('are refused in a prompt file: %s', async (key) => {
    expect(await issues(`[${key}]`)).toEqual([
      `2:2 UNTRUSTED "${key}" may not be set by p.md: the file is not trusted | ` +
        'If you want it, look at the file and run baton trust p.md, or put it into your own config file ~/config.toml.',
    ])
  })
})

describe('several issues', () => {
  it('are reported together, in the order of the lines', async () => {
    expect(await issues('temprature = 1\nmodel = 3\nseed = 1.5\nsub_agents = [7]\ninstructions = "auto"')).toEqual([
      '2:1 CONFIG_INVALID unknown key "temprature"; did you mean "temperature"? | Write temperature; if it really is your own parameter, put it in [params].',
      '3:9 CONFIG_INVALID "model" must be text, not the number 3 | Write text.',
      '4:8 CONFIG_INVALID "seed" must be a whole number, not the number 1.5 | Write a whole number.',
      '5:15 CONFIG_INVALID sub_agents[0] must be a name or a table with a name, not the number 7 | Write "name" or { name = "name" }.',
      '6:1 NOT_AVAILABLE instructions = "auto" is not available in this version | Remove it.',
    ])
  })

  it('become one error with the text of the first, trust before all, and carry the others', async () => {
    const { issues: found } = await check('model = 3\n[gateway]')
    const error = issuesToError(found as [Issue, ...Issue[]])
    expect(error).toMatchObject({ code: 'UNTRUSTED', place: { file: 'p.md', line: 3 } })
    expect(issuesOf(error).map(({ code }) => code)).toEqual(['UNTRUSTED', 'CONFIG_INVALID'])
  })

  it('of another error are that error', () => {
    expect(issuesOf(new Error('x'))).toEqual([])
  })
})

it('also reads YAML', async () => {
  const document = await parsePrompt('p.md', '---\nmodel: 3\nlua:\n  timout: 5s\n---\n')
  const { issues: found } = await checkFrontMatter(document, { userFile: 'u' })
  expect(found.map((issue) => line(issue).split(' | ')[0])).toEqual([
    '2:8 CONFIG_INVALID "model" must be text, not the number 3',
    '4:3 CONFIG_INVALID unknown key "timout" in lua',
  ])
})

describe('parameters that resemble short keys', () => {
  const reader = 'sub_agents = ["prompt-refiner"]\n'

  it.each([
    ['mdoel', 'model'],
    ['modle', 'model'],
    ['tolos', 'tools'],
    ['agnet', 'agent'],
    ['inptu', 'input'],
  ])('are errors if two letters are swapped: %s', async (key, meant) => {
    const hint = `Write ${meant}; if it really is your own parameter, put it in [params].`
    expect(await issues(`${reader}${key} = "x"`)).toEqual([
      `3:1 CONFIG_INVALID unknown key "${key}"; did you mean "${meant}"? | ${hint}`,
    ])
    expect(await issues(`${reader}[params]\n${key} = "x"`)).toEqual([])
  })

  it.each([
    ['modl', 'model'],
    ['modell', 'model'],
    ['nodel', 'model'],
    ['agnt', 'agent'],
    ['sede', 'seed'],
  ])('are warnings if they are one edit away: %s', async (key, meant) => {
    const hint = `Write ${meant}, or put ${key} into [params] if it is your own parameter.`
    const { issues: none, warnings } = await check(`${reader}${key} = "x"`)
    expect([none, warnings.map(line)]).toEqual([
      [],
      [`3:1 CONFIG_INVALID "${key}" is a parameter for agents; did you mean "${meant}"? | ${hint}`],
    ])
    expect((await check(`${reader}[params]\n${key} = "x"`)).warnings).toEqual([])
  })

  it.each(['models', 'tool', 'inputs', 'node', 'tone', 'form', 'level', 'nodes', 'rest'])(
    'are accepted as %s',
    async (key) => {
      expect(await check(`${reader}${key} = "x"`)).toMatchObject({ issues: [], warnings: [] })
    },
  )

  it('are accepted next to the key that they resemble', async () => {
    expect(await check(`${reader}model = "m"\nmodel1 = "x"`)).toMatchObject({ issues: [], warnings: [] })
  })
})
