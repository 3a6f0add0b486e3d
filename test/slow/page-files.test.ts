import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { baton, root } from '../helpers/baton.ts'
import { closeBrowser, hasChromium, openPage, violationsIn } from '../helpers/browser.ts'
import { serveTree } from '../helpers/http-served.ts'
import { startToolModel } from '../helpers/tool-model.ts'

const page = join(root, 'dist/bin/page')
afterAll(closeBrowser)

const files = {
  'baton.toml': 'model = "gpt-5-mini"\n',
  'say.md':
    '+++\nagent = "say.lua"\n\n[[test]]\nname = "says it"\n[[test.expect]]\nanswer_contains = "said"\n\n[[test]]\nname = "sings it"\n[[test.expect]]\nanswer_contains = "la la"\n+++\nHi\n',
  'say.lua': 'return "said"',
  'ask.md': '+++\ntemperature = 0\n+++\nWhat is this?\n',
  'climb.md':
    '+++\nagent = "add.lua"\n[iterate]\ncondition = "2"\ncommits = false\nscore = "wc -l < a.txt"\n+++\nAdd a line.\n',
  'add.lua': 'aip.file.append("a.txt", "line\\n") return "added"',
  'a.txt': '',
}

const config = `[[trigger]]
name = "nightly"
file = "say.md"
cron = "0 3 * * *"
time_zone = "UTC"
[[trigger]]
name = "wrong"
file = "nothing.md"
files = ["src/**"]
[[trigger]]
name = "deploy"
file = "say.md"
secret_env = "DEPLOY_SECRET"
`

it.skipIf(!hasChromium)(
  'triggers are listed with their next start, and one is started by hand (needs chromium)',
  async () => {
    const served = await serveTree(files, { page, config, env: { DEPLOY_SECRET: 'the secret of the hook' } })
    const { page: view, problems } = await openPage(served)
    await view.getByRole('link', { name: 'Triggers' }).click()
    const nightly = view.getByRole('listitem', { name: 'Trigger nightly' })
    await nightly.getByText('ready').waitFor()
    expect(await nightly.getByText('0 3 * * * (UTC)').count()).toBe(1)
    expect(await nightly.locator('time').first().getAttribute('datetime')).toMatch(/T03:00:00/)
    const wrong = view.getByRole('listitem', { name: 'Trigger wrong' })
    await wrong.getByText('nothing.md, which does not exist').waitFor()
    expect(await violationsIn(view)).toEqual([])
    expect(await view.content()).not.toContain('the secret of the hook')
    await view.getByRole('button', { name: 'Start deploy' }).click()
    await view.getByText('said', { exact: true }).waitFor()
    await view.getByRole('link', { name: 'Triggers' }).click()
    const deploy = view.getByRole('listitem', { name: 'Trigger deploy' })
    await deploy.getByText('by hand').waitFor()
    await deploy.getByText('done').waitFor()
    // a trigger that is written now is there without a restart
    const more = '[[trigger]]\nname = "hourly"\nfile = "say.md"\ncron = "@hourly"\n'
    writeFileSync(join(served.home, 'config/config.toml'), `${config}${more}`)
    await view.getByRole('listitem', { name: 'Trigger hourly' }).getByText('ready').waitFor()
    expect(problems).toEqual([])
  },
)

it.skipIf(!hasChromium)(
  'a prompt file has a page with its plan, its tests and its runs, which its runs lead to (needs chromium)',
  async () => {
    const { url } = await startToolModel([{ text: 'one' }])
    const served = await serveTree(files, { page, env: { BATON_GATEWAY_URL: url } })
    const around = { cwd: served.folder, env: { ...served.around.env, HOME: served.home } }
    expect((await baton(['test', 'say.md'], around)).code).toBe(100)
    expect((await baton(['climb.md'], around)).code).toBe(0)
    expect((await served.get('/api/file/runs?path=climb.md')).body).toMatchObject({
      runs: [{ score: 2, status: 'done' }],
    })
    for (let count = 0; count < 3; count += 1) expect((await baton(['say.md'], around)).code).toBe(0)
    const { page: view, problems } = await openPage(served)
    await view.getByRole('row').filter({ hasText: 'say.md' }).first().click()
    await view.getByRole('link', { name: 'say.md' }).click()
    const runs = view.getByRole('region', { name: 'Runs' })
    await runs.getByRole('img', { name: /^Duration of 3 runs/ }).waitFor()
    expect(await runs.getByRole('row').count()).toBe(4)
    const tests = view.getByRole('region', { name: 'Tests' })
    await tests.getByText('sings it').waitFor()
    expect(await tests.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^passed says it/),
      expect.stringMatching(/^failed sings it .*the answer does not contain/s),
    ])
    expect(await violationsIn(view)).toEqual([])
    writeFileSync(join(served.folder, 'say.lua'), 'return "la la said"')
    await tests.getByRole('button', { name: 'Run the tests' }).click()
    await view.getByText('2 tests passed.').waitFor()
    await tests.getByText('passed').nth(1).waitFor()
    expect(await tests.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^passed says it/),
      expect.stringMatching(/^passed sings it/),
    ])
    writeFileSync(join(served.folder, 'say.lua'), files['say.lua'])
    await runs.getByRole('link').first().click()
    await view.getByText('said', { exact: true }).waitFor()
    await view.getByRole('link', { name: 'Prompt files' }).click()
    await view.getByRole('link', { name: /ask\.md/ }).click()
    const plan = view.getByRole('region', { name: 'Plan' })
    expect(await plan.getByRole('row', { name: /^as written/ }).textContent()).toMatch(/^as written1/)
    await view.getByRole('region', { name: 'Tests' }).getByText('No tests').waitFor()
    expect(problems).toEqual([])
  },
)
