import type { z } from 'zod'
import { frame, frameTable, type KeyRows, type SettingRow, user, type Values } from './setting.ts'

/** An endpoint of the user's own. */
const keys = {
  base_url: {
    isRequired: true,
    schema: ({ address }) => address,
    text: 'The base URL of its API, for example https://host/v1.',
  },
  format: {
    schema: ({ oneOf }) => oneOf('chat', 'responses', 'anthropic', 'gemini'),
    text: 'The wire format of its API.',
  },
  api_key_env: { schema: ({ variableName }) => variableName, text: 'The environment variable that contains the key.' },
  api_key_command: {
    schema: ({ name }) => name,
    text: 'A command that prints the key, for keys that expire: run at most every five minutes. Not together with api_key_env.',
  },
  api_version: {
    schema: ({ name }) => name,
    text: 'The version of the API of Azure OpenAI; base_url then ends in /openai, and models are deployments.',
  },
  organization: { schema: ({ name }) => name, text: 'The organization of OpenAI whose account is used.' },
  project: { schema: ({ name }) => name, text: 'The project of OpenAI whose account is used.' },
  batch: { schema: ({ flag }) => flag, text: 'It has the batch API of OpenAI, or of Anthropic if that is its format.' },
  default_model: { schema: ({ name }) => name, text: 'The model if none is named.' },
  stream_idle_timeout_ms: {
    schema: ({ integer }) => integer(1, 86_400_000),
    text: 'Time between two pieces of its answer, in milliseconds. Default: stream_idle of [timeouts].',
  },
} as const satisfies KeyRows

function refine(table: z.ZodType): z.ZodType {
  return table.superRefine((value, context) => {
    const {
      api_key_env: variable,
      api_key_command: command,
      api_version: version,
      batch,
      format,
    } = value as Values<typeof keys>
    if (variable !== undefined && command !== undefined) {
      const message = 'left out where api_key_env is set'
      context.addIssue({ code: 'custom', path: ['api_key_command'], input: command, message })
    }
    if (version !== undefined && (format === 'anthropic' || format === 'gemini')) {
      const message = 'used with the format chat or responses'
      context.addIssue({ code: 'custom', path: ['api_version'], input: format, message })
    }
    if (batch === true && (version !== undefined || format === 'gemini')) {
      const message = 'left out for Azure and Gemini'
      context.addIssue({ code: 'custom', path: ['batch'], input: batch, message })
    }
  })
}

export const providers = {
  ...frameTable,
  decides: true,
  order: user,
  text: 'Your own endpoints, by name. Only in your own config file.',
  each: 'name',
  keys,
  refine,
} as const satisfies SettingRow

export const gateway = {
  ...frame,
  decides: true,
  order: user,
  isPlain: true,
  text: 'An endpoint that gets every model name verbatim. Only in your own config file.',
  keys,
  refine,
} as const satisfies SettingRow

export const prices = {
  ...frameTable,
  isLimit: true,
  order: user,
  text: 'Prices of models, by name or glob, for hosts whose prices are not known. Only in your own config file.',
  each: 'name',
  keys: {
    input: { isRequired: true, schema: ({ number }) => number(0, 1e6), text: 'US dollars per million input tokens.' },
    output: {
      isRequired: true,
      schema: ({ number }) => number(0, 1e6),
      text: 'US dollars per million output tokens, including reasoning.',
    },
    cached: {
      schema: ({ number }) => number(0, 1e6),
      text: 'US dollars per million cached input tokens. Default: as other input.',
    },
  },
} as const satisfies SettingRow
