import { isObject, type JsonObject } from '../../base/json.ts'

/** A field of a form, from JSON Schema: a variable of a prompt file, or a value that an MCP server asks for. */
export interface FormField {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly isRequired: boolean
  /** As typed; empty if there is none. */
  readonly initial: string
  readonly input: 'text' | 'number' | 'lines' | 'choice'
  /** Of a choice: values as typed, with what is shown. */
  readonly choices: readonly { readonly value: string; readonly title: string }[]
  /** How to write a value, if that is not obvious. */
  readonly hint: string
}

/** The fields of a schema of type object, in its order. Values are typed as texts, which the server reads by their type. */
export function formFields({ properties, required }: JsonObject): readonly FormField[] {
  if (!isObject(properties)) return []
  const needed: readonly unknown[] = Array.isArray(required) ? required : []
  return Object.entries(properties).flatMap(([name, schema]): readonly FormField[] => {
    if (!isObject(schema)) return []
    const { title, description, default: initial, type } = schema
    const choices = type === 'boolean' ? yesOrNo : choicesOf(schema)
    return [
      {
        name,
        title: textOr(title, name),
        description: textOr(description, ''),
        isRequired: needed.includes(name),
        initial: typedText(initial),
        ...(choices === undefined ? inputOf(type) : { input: 'choice', hint: '' }),
        choices: choices ?? [],
        ...(type === 'array' && { input: 'text', hint: listHint(isObject(schema['items']) ? schema['items'] : {}) }),
      },
    ]
  })
}

function inputOf(type: unknown): Pick<FormField, 'input' | 'hint'> {
  switch (type) {
    case 'number':
    case 'integer':
      return { input: 'number', hint: '' }
    case 'object':
      return { input: 'lines', hint: 'JSON, such as {"key": "value"}' }
    default:
      return { input: 'lines', hint: '' }
  }
}

function listHint(items: object): string {
  const choices = choicesOf(items)
  return choices === undefined ? 'several with commas' : `with commas: ${choices.map(({ value }) => value).join(', ')}`
}

const yesOrNo = [
  { value: 'true', title: 'yes' },
  { value: 'false', title: 'no' },
]

/** From `enum`, with or without names, or the forms with titles. */
function choicesOf(schema: object): FormField['choices'] | undefined {
  const { enum: values, enumNames: names, oneOf, anyOf } = schema as Readonly<Record<string, unknown>>
  if (Array.isArray(values)) {
    const titles: readonly unknown[] = Array.isArray(names) ? names : []
    return values.map((value, index) => ({ value: typedText(value), title: textOr(titles[index], typedText(value)) }))
  }
  const titled: unknown = Array.isArray(oneOf) ? oneOf : anyOf
  if (!Array.isArray(titled)) return undefined
  return titled.flatMap((one: unknown) => {
    const { const: value, title }: { readonly const?: unknown; readonly title?: unknown } = isObject(one) ? one : {}
    return value === undefined ? [] : [{ value: typedText(value), title: textOr(title, typedText(value)) }]
  })
}

function textOr(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

/** A value as a person types it. */
export function typedText(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'string') return value
  const isPlainList = Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes(','))
  return isPlainList ? value.join(', ') : JSON.stringify(value)
}
