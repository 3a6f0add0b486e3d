import type { z } from 'zod'
import { frame, frameTable, type SettingRow, type TableOf, user } from './setting.ts'

/** `[[trigger]]`: what starts prompt files while `baton serve` runs. */
export const trigger = {
  ...frame,
  isLimit: true,
  isConfigOnly: true,
  isList: true,
  isAppended: true,
  order: user,
  text: 'What starts prompt files while baton serve runs: times, files that change, or signed webhooks. Only in your own config file, or in a trusted one.',
  each: { list: 'a list of tables' },
  refine: withOneSource,
  refineAll: withUniqueNames,
  keys: {
    name: {
      isRequired: true,
      schema: ({ name }) =>
        name
          .max(64, 'at most 64 characters')
          .regex(
            /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
            'letters, digits, ".", "_" and "-", of which the first is a letter or digit',
          ),
      text: 'Its name, for the page, for --once, and for the address of a webhook.',
    },
    file: {
      isRequired: true,
      schema: ({ name }) => name,
      text: 'The prompt file or agent that it starts, relative to the workspace.',
    },
    enabled: { schema: ({ flag }) => flag, text: 'Whether it starts anything. Default: true.' },
    workspace: {
      schema: ({ name }) => name,
      text: 'The workspace it belongs to; ~/ is your home folder. Default: each workspace that is served.',
    },
    cron: {
      schema: ({ name }) => name,
      text: 'Starts at these times: minute, hour, day of the month, month, day of the week.',
    },
    time_zone: {
      schema: ({ name }) => name,
      text: 'The time zone of cron, such as Europe/Berlin. Default: that of the machine.',
    },
    missed: {
      schema: ({ oneOf }) => oneOf('skip', 'once'),
      text: 'What becomes of times of cron at which the server did not run, or the machine slept: nothing, or one run. Default: skip.',
    },
    files: {
      schema: ({ globs }) => globs,
      text: 'Starts when a file that matches these globs changes. What Baton itself writes does not count.',
    },
    secret_env: {
      schema: ({ variableName }) => variableName,
      text: 'Starts by a webhook, POST /hooks/NAME, that is signed with the secret in this environment variable.',
    },
    overlap: {
      schema: ({ oneOf }) => oneOf('skip', 'queue', 'allow'),
      text: 'What happens if its last run is still in progress: nothing, another run afterwards, or another run at once. Default: skip; for a webhook queue.',
    },
    input: {
      schema: ({ anything }) => anything,
      text: 'The input of the run. A webhook has what was sent as its input.',
    },
    vars: { schema: ({ tableOf, anything }) => tableOf(anything), text: 'Values of the variables of [input].' },
    model: { schema: ({ name }) => name, text: 'The model. Default: as in other runs of the server.' },
    max_cost: {
      schema: ({ number }) => number(0, 1e9),
      text: 'Each run stops before it costs more than this many US dollars.',
    },
    on_ask: {
      schema: ({ oneOf }) => oneOf('suspend', 'deny'),
      text: 'What happens if a call needs approval: the run is suspended until somebody answers, or the call is denied. Default: suspend.',
    },
  },
} as const satisfies SettingRow

/** One entry of `[[trigger]]`, after the check. */
export type TriggerEntry = TableOf<typeof trigger>

export const serve = {
  ...frameTable,
  isLimit: true,
  isConfigOnly: true,
  isPlain: true,
  order: user,
  text: 'How baton serve works. Only in your own config file, or in a trusted one.',
  keys: {
    runs: {
      schema: ({ integer }) => integer(1, 9999),
      text: 'How many runs work at the same time, each in a process of its own; further ones wait. Default: 8.',
    },
    public_host: {
      schema: ({ textFor }) => textFor('a host such as "hooks.example.com"', isHostName),
      text: 'The host name at which your proxy passes requests for /hooks/NAME on. All other requests for it are refused.',
    },
  },
} as const satisfies SettingRow

function isHostName(text: string): boolean {
  return /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[1-9]\d{0,4})?$/.test(text)
}

/** What belongs to one source only. */
const ofSource = { time_zone: 'cron', missed: 'cron' } as const
const sources = ['cron', 'files', 'secret_env'] as const

function withOneSource(table: z.ZodType): z.ZodType {
  return table.superRefine((value, context) => {
    const entry = value as TriggerEntry
    const given = sources.filter((key) => entry[key] !== undefined)
    const [first, second] = given
    if (first === undefined) {
      const message = 'a table with one of cron, files and secret_env'
      context.addIssue({ code: 'custom', path: [], input: value, message })
    } else if (second !== undefined) {
      const message = `left out where ${first} is set: a trigger has one of cron, files and secret_env`
      context.addIssue({ code: 'custom', path: [second], input: entry[second], message })
    }
    for (const [key, source] of Object.entries(ofSource) as [keyof typeof ofSource, 'cron'][]) {
      if (entry[key] === undefined || entry[source] !== undefined || first === undefined) continue
      context.addIssue({ code: 'custom', path: [key], input: entry[key], message: `left out without ${source}` })
    }
  })
}

function withUniqueNames(triggers: z.ZodType): z.ZodType {
  return triggers.superRefine((value, context) => {
    const names = (value as readonly TriggerEntry[]).map(({ name }) => name.toLowerCase())
    for (const [index, name] of names.entries()) {
      if (names.indexOf(name) === index) continue
      const message = 'a name that no other trigger of the file has, whatever its case'
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        input: (value as readonly TriggerEntry[])[index]?.name,
        message,
      })
    }
  })
}
