import { describe, expect, it } from 'vitest'
import { parseToml } from '../../src/base/toml.ts'
import { parseDuration } from '../../src/base/duration.ts'
import { isReserved, reserved } from '../../src/settings/keys.ts'
import { checkValue } from '../../src/config/check-settings.ts'
import { schemas } from '../../src/settings/schema.ts'

/** Every issue of the top-level keys of a TOML text, whether or not this version acts on them. */
async function check(block: string): Promise<readonly string[]> {
  const { data } = await parseToml({ file: 'x', text: block, block, firstLine: 1, what: 'x', code: 'CONFIG_INVALID' })
  return Object.entries(data).flatMap(([key, value]) =>
    isReserved(key) ? checkValue(key, value).map(({ message }) => message) : [`${key} is not reserved`],
  )
}

it('has a schema for every reserved key and for nothing else', () => {
  expect(Object.keys(schemas).toSorted()).toEqual([...reserved.keys()].toSorted())
})

// Examples in the format of the programs that have these keys.
it.each([
  [
    'iterate',
    `[iterate]
     condition      = "3"
     context        = true
     assessment     = true
     commits        = true
     summarizer     = "files"
     continuation   = ""
     plan           = "docs/plan.md"
     on_dirty       = "abort"
     max_iterations = 100`,
  ],
  [
    'collab',
    `tools = ["read", "grep"]
     [collab]
     max_agents   = 6
     max_depth    = 1
     default_wait = "30s"
     min_wait     = "10s"
     max_wait     = "5m"
     return_when  = "all"
     [collab.roles.orchestrator]
     instructions = "prompts/orchestrator.md"
     [collab.roles.worker]
     model = "fast"
     tools = ["read", "grep", "bash"]`,
  ],
  [
    'code',
    `mode       = "code"
     max_rounds = 10
     [code]
     timeout   = "30s"
     memory_mb = 64
     eval_type = "global"
     stream    = true`,
  ],
  [
    'core execution',
    `[ensemble]
     quorum      = 2
     timeout     = "5m"
     aggregator  = "prompts/synthesize.md"
     [[ensemble.agents]]
     name = "a"
     command = "claude"
     args = ["-p", "{prompt}"]
     [[ensemble.agents]]
     name = "b"
     model = "openai/main"
     [[ensemble.agents]]
     name = "c"
     command = "gemini"
     args = ["-p", "{prompt}"]
     stdin_over = 1024
     [retry]
     max_attempts = 3
     initial_backoff_ms = 100
     max_backoff_ms = 10000
     backoff_multiplier = 2.0
     jitter_factor = 0.5
     [timeouts]
     request = "30s"
     stream_idle = "5m"
     [mcp_servers.filesystem]
     startup_timeout_sec = 10
     tool_timeout_sec = 60
     [sandbox]
     mode = "workspace-write"`,
  ],
  [
    'delegate',
    `[delegate]
     team          = "auth"
     max_workers   = 5
     task_format   = "markdown"
     notifications = true
     task_list     = "tasks.md"
     lease         = "5m"
     workers       = ["Explore", "Plan", { name = "Code", agent = "general-purpose" }]`,
  ],
])('knows the keys of the %s example', async (_, toml) => {
  expect(await check(toml)).toEqual([])
})

it('reports unknown keys also in tables of tables and lists of tables', async () => {
  expect(await check('[collab.roles.a]\nmodle = "x"\n[[ensemble.agents]]\nnam = "a"')).toEqual([
    'unknown key "modle" in collab.roles.a',
    'unknown key "nam" in ensemble.agents[0]',
  ])
})

describe('providers', () => {
  it.each([
    ['base_url = "https://a.example/v1"\napi_key_env = "A_KEY"\ndefault_model = "m"', []],
    ['api_key_env = "A_KEY"', ['"providers.a.base_url" is missing']],
    [
      'base_url = "ftp://a"',
      ['"providers.a.base_url" must be an http:// or https:// address without user name and password'],
    ],
    [
      'base_url = "https://me:pw@a"',
      ['"providers.a.base_url" must be an http:// or https:// address without user name and password'],
    ],
    [
      'base_url = "http://a"\napi_key_env = "sk-123"',
      ['"providers.a.api_key_env" must be the name of an environment variable'],
    ],
    ['base_url = "http://a"\napi_key = "sk-123"', ['unknown key "api_key" in providers.a']],
    ['base_url = "http://a"\napi_key_command = "pass key"\napi_version = "1"\nproject = "p"', []],
    [
      'base_url = "http://a"\napi_key_command = "pass key"\napi_key_env = "A_KEY"',
      ['"providers.a.api_key_command" must be left out where api_key_env is set'],
    ],
    [
      'base_url = "http://a"\nformat = "gemini"\napi_version = "1"',
      ['"providers.a.api_version" must be used with the format chat or responses, not "gemini"'],
    ],
  ])('are checked: %j', async (body, messages) => {
    expect(await check(`[providers.a]\n${body}`)).toEqual(messages)
  })

  it('with a key in the file explain where keys come from, and mark the line as secret', () => {
    const [finding] = checkValue('providers', { a: { base_url: 'http://a', api_key: 'sk-123' } })
    expect(finding).toMatchObject({
      hint: 'Keys come from the environment only: put the name of the variable into api_key_env.',
      isSecret: true,
    })
    expect(JSON.stringify(finding)).not.toContain('sk-123')
  })
})

describe('durations', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
  ])('%s are %i ms', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds)
  })

  it.each(['', '5', 's', '-1s', '1 s', '1e3s', '1w', '99999999999s'])('cannot be %j', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })
})
