import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { isBatonError } from '../../src/base/error.ts'
import { sha256 } from '../../src/base/hash.ts'
import { trustFile, writeTrusted } from '../../src/config/trust.ts'
import { loadTargetConfig } from '../../src/config/target-config.ts'
import { readTriggers, type TriggersFound } from '../../src/config/triggers.ts'
import { issuesOf } from '../../src/settings/issue.ts'
import { tempTree } from '../helpers/temp.ts'

const secret = 'a secret of some length'

/** The triggers of a workspace with the file a.md. */
async function read(config: string, env: Readonly<Record<string, string>> = {}): Promise<TriggersFound> {
  const cwd = tempTree({ '.git/HEAD': 'x\n', 'a.md': 'Hi' })
  const home = tempTree({ 'config/config.toml': config })
  const around = { cwd, home, env: { BATON_HOME: home, ...env } }
  return readTriggers(await loadTargetConfig({ ...around, flags: { overrides: [] } }), around)
}

async function problems(config: string, env: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const textOf = ({ message, place }: { readonly message: string; readonly place?: { readonly line?: number } }) =>
    `${place?.line}: ${message.replace(/ in \/\S+/, ' here')}`
  try {
    return (await read(config, env)).problems.map((one) => `${one.severity} ${textOf(one)}`)
  } catch (error) {
    if (!isBatonError(error)) throw error
    return issuesOf(error).map((issue) => `${issue.code} ${textOf(issue)}`)
  }
}

const trigger = (lines: string): string => `[[trigger]]\nname = "t"\nfile = "a.md"\n${lines}\n`

describe('[[trigger]]', () => {
  it.each([
    ['file = "b.md"\ncron = "@daily"', ['warning 3: trigger "t" starts b.md, which does not exist here']],
    [
      'cron = "99 * * * *"',
      ['error 4: the cron expression "99 * * * *" of trigger "t" is invalid: Invalid value for minute: 99'],
    ],
    ['cron = "0 0 30 2 *"', ['error 4: the times "0 0 30 2 *" of trigger "t" never come']],
    ['cron = "@daily"\ntime_zone = "Mars/Base"', ['error 5: trigger "t" has the unknown time zone "Mars/Base"']],
    ['secret_env = "S"', ['warning 4: S, the secret of trigger "t", is not set']],
    [
      'cron = "@daily"\nworkspace = "project"',
      ['error 5: trigger "t" names the workspace "project", which is not an absolute path'],
    ],
    [
      'cron = "@daily"\nworkspace = "/nowhere/at/all"',
      ['error 5: trigger "t" names the workspace /nowhere/at/all, which is not a folder'],
    ],
    [
      '',
      [
        expect.stringMatching(
          /^CONFIG_INVALID \d: "trigger\[0\]" must be a table with one of cron, files and secret_env/,
        ),
      ],
    ],
    ['cron = "@daily"\nfiles = ["*"]', [expect.stringMatching(/^CONFIG_INVALID 5: .*left out where cron is set/)]],
    ['files = ["*"]\nmissed = "once"', [expect.stringMatching(/^CONFIG_INVALID 5: .*left out without cron/)]],
    ['cron = "@daily"\nhour = 3', [expect.stringMatching(/^CONFIG_INVALID 5: unknown key "hour"/)]],
    ['cron = "@daily"\non_ask = "allow"', [expect.stringMatching(/^CONFIG_INVALID 5: .*one of "suspend", "deny"/)]],
  ])('reports %s', async (lines, expected) => {
    const text = lines.startsWith('file =') ? `[[trigger]]\nname = "t"\n${lines}\n` : trigger(lines)
    expect(await problems(text)).toEqual(expected)
  })

  it('needs a name of its own that can be part of an address', async () => {
    for (const name of ['../x', 'a b', '-x', 'x'.repeat(65)])
      expect(await problems(`[[trigger]]\nname = "${name}"\nfile = "a.md"\ncron = "@daily"\n`)).toEqual([
        expect.stringMatching(/^CONFIG_INVALID 2: "trigger\[0\]\.name" must be/),
      ])
    const two = `${trigger('cron = "@daily"')}${trigger('files = ["*"]').replace('"t"', '"T"')}`
    expect(await problems(two)).toEqual([expect.stringMatching(/^CONFIG_INVALID 6: .*no other trigger/)])
  })

  it('needs a secret of its own, of some length, which no message shows', async () => {
    const webhooks = `${trigger('secret_env = "A"')}${trigger('secret_env = "B"').replace('"t"', '"u"')}`
    expect(await problems(webhooks, { A: secret, B: secret })).toEqual([
      'error 8: the triggers "t" and "u" have the same secret',
    ])
    expect(await problems(webhooks.replace('"B"', '"A"'), { A: secret })).toEqual([
      'error 8: the triggers "t" and "u" have the same secret',
    ])
    const [short] = (await read(webhooks, { A: 'hunter2', B: secret })).problems
    expect(short?.message).toBe('the secret of trigger "t" in A has fewer than 16 characters')
    expect(JSON.stringify(await read(webhooks, { A: secret, B: `${secret}2` }))).not.toContain(secret)
  })

  it('of the user belongs to the workspace that it names, or to each, and those of a trusted folder are added', async () => {
    const cwd = tempTree({
      '.git/HEAD': 'x\n',
      'a.md': 'Hi',
      'baton.toml': '[[trigger]]\nname = "folder"\nfile = "a.md"\nfiles = ["*.md"]\n',
    })
    const other = tempTree()
    const home = tempTree({
      'config/config.toml': [
        trigger('cron = "@daily"'),
        trigger(`cron = "@daily"\nworkspace = "${cwd}"`).replace('"t"', '"here"'),
        trigger(`cron = "@daily"\nworkspace = "${other}"`).replace('"t"', '"there"'),
      ].join(''),
    })
    const around = { cwd, home, env: { BATON_HOME: home } }
    const load = () => loadTargetConfig({ ...around, flags: { overrides: [] } })
    await expect(load()).rejects.toMatchObject({ code: 'UNTRUSTED' })
    const entry = { hash: sha256(readFileSync(join(cwd, 'baton.toml'))), keys: ['trigger'], since: '' }
    writeTrusted(trustFile(around), new Map([[join(cwd, 'baton.toml'), entry]]))
    const config = await load()
    const { triggers } = await readTriggers(config, around)
    expect(triggers.map(({ name, problems: all }) => [name, all.length])).toEqual([
      ['t', 0],
      ['here', 0],
      ['folder', 0],
    ])
    // the same name in both files
    writeFileSync(join(home, 'config/config.toml'), trigger('cron = "@daily"').replace('"t"', '"folder"'))
    expect((await readTriggers(await load(), around)).problems).toMatchObject([
      { message: 'there are two triggers "folder"', place: { file: 'baton.toml', line: 2 } },
    ])
  })
})
