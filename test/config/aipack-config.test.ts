import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { issuesOf } from '../../src/settings/issue.ts'
import { describeOrigins } from '../../src/config/layers.ts'
import { loadTargetConfig } from '../../src/config/target-config.ts'
import { tempTree } from '../helpers/temp.ts'

interface Files {
  readonly [path: string]: string
}

interface Given {
  /** `-m`. */
  readonly model?: string
  readonly env?: { readonly [name: string]: string }
}

async function load(
  files: Files,
  overrides: readonly string[] = [],
  { env, ...flags }: Given = {},
): ReturnType<typeof loadTargetConfig> {
  const root = tempTree({ 'wks/.aipack/x': '', 'home/x': '', ...files })
  const home = join(root, 'home')
  return loadTargetConfig({
    cwd: join(root, 'wks'),
    home,
    env: { BATON_HOME: join(root, 'own'), ...env },
    flags: { overrides, ...flags },
  })
}

async function refused(files: Files): Promise<readonly string[]> {
  const error: unknown = await load(files).catch((reason: unknown) => reason)
  return issuesOf(error).map(({ message, place }) => `${place?.file}:${place?.line}:${place?.column} ${message}`)
}

const wks = 'wks/.aipack/config.toml'

describe("AIPack's config files", () => {
  it('are parsed as written (vector 17)', async () => {
    const { settings } = await load({
      [wks]:
        '[options]\nmodel = "gpt-5-mini"\ntemperature = 0.0\ninput_concurrency = 6\nmodel_aliases = { small = "gemini-2.5-flash" }\n',
    })
    expect(settings).toMatchObject({
      model: 'gpt-5-mini',
      temperature: 0,
      input_concurrency: 6,
      model_aliases: { small: 'gemini-2.5-flash' },
      allow_run_on_task_fail: false,
    })
  })

  it('are below ours in order; aliases are merged', async () => {
    const { settings, origins } = await load({
      'home/.aipack-base/config-default.toml':
        '[options]\nmodel = "1"\ntop_p = 0.1\ntemperature = 0.1\ninput_concurrency = 5\nallow_run_on_task_fail = true\n[options.model_aliases]\na = "1"\nb = "1"\n',
      'home/.aipack-base/config-user.toml':
        '[options]\nmodel = "2"\ntop_p = 0.2\ntemperature = 0.2\ninput_concurrency = 6\n',
      [wks]: '[options]\nmodel = "3"\ntop_p = 0.3\ntemperature = 0.3\nmodel_aliases = { c = "3" }\n',
      'own/config/config.toml': 'model = "4"\ntop_p = 0.4\n',
      'wks/baton.toml': 'model = "5"\n',
    })
    expect(settings).toMatchObject({
      model: '5',
      top_p: 0.4,
      temperature: 0.3,
      input_concurrency: 6,
      allow_run_on_task_fail: true,
      model_aliases: { a: '1', b: '1', c: '3' },
    })
    const temperature = origins.find(({ path }) => path[0] === 'temperature')
    expect(temperature?.layer.origin).toEqual({ kind: 'workspace', file: '.aipack/config.toml' })
    expect(await temperature?.layer.locate?.(['temperature'])).toMatchObject({ line: 4 })
  })

  it("of the folder override the user's model and known names, but never the user's own aliases", async () => {
    const { settings, origins } = await load({
      'home/.aipack-base/config-default.toml': '[options.model_aliases]\nquick = "standard"\n',
      'home/.aipack-base/config-user.toml': '[options]\nmodel = "mine"\nmodel_aliases = { review = "careful" }\n',
      [wks]:
        '[options]\nmodel = "theirs"\n[options.model_aliases]\nquick = "x"\nopus = "x"\nreview = "x"\nreview-high = "x"\ngpt-5-mini = "x"\n',
    })
    expect(settings.model).toBe('theirs')
    expect(settings.model_aliases).toEqual({ quick: 'x', opus: 'x', review: 'careful', 'gpt-5-mini': 'x' })
    const rows = (await describeOrigins({ origins })).map(({ key, origin }) => `${key}: ${origin}`)
    expect(rows).toContainEqual(
      expect.stringMatching(/^model: \.aipack\/config\.toml:2, over "mine" of .*config-user\.toml:2$/),
    )
  })

  it('of the folder may not loosen, start or access anything without trust', async () => {
    const user = { 'own/config/config.toml': 'timeout = "1m"\n' }
    expect(await refused({ ...user, [wks]: '[options]\ntimeout = "2m"\n' })).toEqual([
      expect.stringContaining('"timeout" may not be "2m"'),
    ])
  })

  it('may name the table default_options; options overrides it', async () => {
    expect((await load({ [wks]: '[default_options]\nmodel = "a"\n' })).settings.model).toBe('a')
    const both = await load({ [wks]: '[default_options]\nmodel = "a"\n[options]\ntop_p = 0.5\n' })
    expect(both.settings).toMatchObject({ top_p: 0.5 })
    expect(both.settings.model).toBeUndefined()
  })

  it('may not name it default-options', async () => {
    expect(await refused({ [wks]: 'x = 1\n[default-options]\nmodel = "a"\n' })).toEqual([
      '.aipack/config.toml:2:2 [default-options] is no longer read',
    ])
  })

  it.each([
    ['model = 5', '"options.model" must be non-empty text, not the number 5'],
    ['model = ""', '"options.model" must be non-empty text, not empty text'],
    ['temperature = "hot"', '"options.temperature" must be a number, not "hot"'],
    ['top_p = true', '"options.top_p" must be a number, not true'],
    ['input_concurrency = 1.5', '"options.input_concurrency" must be a whole number of at least 1, not the number 1.5'],
    ['input_concurrency = 0', '"options.input_concurrency" must be a whole number of at least 1, not the number 0'],
    ['allow_run_on_task_fail = "yes"', '"options.allow_run_on_task_fail" must be true or false, not "yes"'],
    ['model_aliases = ["a"]', '"options.model_aliases" must be a table of strings, not a list'],
    ['model_aliases = { a = 1 }', '"options.model_aliases" must be a table of strings, not a table'],
  ])('refuse %s at its place', async (line, message) => {
    const found = await refused({ [wks]: `[options]\n${line}\n` })
    expect(found).toEqual([expect.stringMatching(/^\.aipack\/config\.toml:2:\d+ /)])
    expect(found[0]).toContain(message)
  })

  it('refuse a table of another type, and invalid TOML', async () => {
    expect(await refused({ [wks]: 'options = 5\n' })).toEqual(['.aipack/config.toml:1:11 "options" must be a table'])
    expect(await refused({ [wks]: '[options\n' })).toEqual([expect.stringContaining('.aipack/config.toml:1')])
  })

  it('may contain unknown keys: reported by check, not by a run', async () => {
    const { settings, notes } = await load({
      [wks]: '[options]\nmodel = "a"\ntemprature = 1\n\n[api_keys]\nx = "secret"\n',
    })
    expect(settings.model).toBe('a')
    expect(notes.map(({ message, hint, place }) => `${place?.line} ${message} | ${hint}`)).toEqual([
      '3 nothing reads the option "temprature" | Did you mean "temperature"?',
      '5 nothing reads "api_keys" in this file | Only [options] is read; API keys come from the environment.',
    ])
  })

  it('of old versions, and missing files, are not read', async () => {
    const { settings } = await load({ 'home/.aipack-base/config.toml': '[options]\nmodel = "old"\n' })
    expect(settings.model).toBeUndefined()
  })
})

describe('the initial options of agents', () => {
  it('are the config and model settings of -c; for the main agent flags override its own', async () => {
    const { settings, configSettings, flagValues } = await load(
      { [wks]: '[options]\nmodel = "config"\ntop_p = 0.5\n' },
      ['model=flag', 'temperature=1', 'write_mode=true', 'context_globs=["*.ts"]'],
    )
    expect(settings.model).toBe('flag')
    expect(configSettings).toMatchObject({ model: 'flag', temperature: 1, top_p: 0.5, write_mode: false })
    expect(configSettings.globs.context).toEqual([])
    expect(flagValues).toEqual({ model: 'flag', temperature: 1, write_mode: true, context_globs: ['*.ts'] })
  })

  it('do not include -m and BATON_MODEL', async () => {
    const { configSettings } = await load({}, ['temperature=1'], { model: 'flag', env: { BATON_MODEL: 'environment' } })
    expect(configSettings.model).toBeUndefined()
    expect(configSettings.temperature).toBe(1)
  })
})
