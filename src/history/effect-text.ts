import { isObject } from '../base/json.ts'

/** An effect in a few words: the model, the command line, what happens to which file. */
export function describeEffect(kind: string, request: unknown): string {
  if (!isObject(request)) return ''
  const text = (name: string): string => (typeof request[name] === 'string' ? request[name] : '')
  switch (kind) {
    case 'model':
      return text('provider')
    case 'command':
      return [text('command'), ...listOf(request['args'])].join(' ')
    case 'file':
      return [text('op'), ...(text('from') === '' ? [] : [text('from'), '→']), text('path')].join(' ')
    case 'http':
      return `${text('method') || 'GET'} ${text('url')}`
    default:
      return text('name') || text('path')
  }
}

function listOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : []
}
