import { basename, extname } from 'node:path'
import { BatonError } from '../../base/error.ts'
import { firstText } from '../../authoring/inventory.ts'
import { isJsonObject, type JsonObject } from '../../base/json.ts'
import type { TargetOptions } from '../../load/options.ts'
import { loadTarget, takesMessages } from '../../load/target.ts'
import type { PromptTarget } from '../../load/prompt-target.ts'
import { inputSchema } from '../input-schema.ts'

/** A prompt file, agent or pack that clients may call. */
export interface Offer {
  /** The tool name for clients: letters, digits, `-` and `_`, at most 64 characters. */
  readonly name: string
  readonly title?: string
  readonly description: string
  /** In the form that `baton FILE` accepts. */
  readonly file: string
  /** Absolute path of the file. */
  readonly path: string
  /** JSON Schema of type object. */
  readonly input: JsonObject
  /** JSON Schema of type object, for the result of `answerValue`. */
  readonly output?: JsonObject
  readonly target: OfferTarget
}

type OfferTarget =
  /**
   * `context`: the name of the argument that is passed as context, not as a variable. `input`: the name of the argument
   * that is the message to an agent definition; undefined for other files.
   */
  | {
      readonly kind: 'prompt'
      readonly context: string
      readonly input: string | undefined
      readonly shape: AnswerShape
    }
  | { readonly kind: 'agent' }

/** How the answers of tasks become one structured value: unchanged, in the field `answer`, or as the list `answers`. */
type AnswerShape = 'text' | 'object' | 'answer' | 'answers'

/**
 * Reads and checks a file as a run would, and describes it as a tool. The input schema is derived from its variables.
 * @throws BatonError for every error that would prevent a run from starting
 */
export async function readOffer(options: TargetOptions): Promise<Offer> {
  const { file } = options
  const name = offerName(file)
  const target = await loadTarget(options)
  if (target.kind === 'agent') {
    return {
      name,
      description: (await firstText(target.agent.file, () => target.agent.text)) || `Runs the agent ${name}.`,
      file,
      path: target.agent.file,
      input: { type: 'object', properties: { input: { description: 'What the agent works on: any JSON value.' } } },
      target: { kind: 'agent' },
    }
  }
  return { name, file, path: target.spec.file, ...offerOfPrompt(target, name) }
}

function offerOfPrompt(target: PromptTarget, name: string): Omit<Offer, 'name' | 'file' | 'path'> {
  const { spec, output } = target
  const { frontMatter, variables = [] } = spec
  const { name: title, description } = frontMatter
  const context = variables.some((variable) => variable.name === 'context') ? 'context_text' : 'context'
  const input = takesMessages(target) ? 'input' : undefined
  const shape = shapeOf(target)
  return {
    ...(typeof title === 'string' && title.trim() !== '' ? { title } : {}),
    description:
      typeof description === 'string' && description.trim() !== '' ? description : `Runs the prompt ${name}.`,
    input: inputSchema(variables, {
      ...(input === undefined ? {} : { [input]: { type: 'string', description: 'What the agent is asked to do.' } }),
      [context]: { type: 'string', description: 'A text that the prompt gets as context.' },
    }),
    ...(output === undefined ? {} : { output: outputSchema(output.schema, shape) }),
    target: { kind: 'prompt', context, input, shape },
  }
}

/** `pipelines/review-diff.md` becomes `review-diff`, `pro@coder/plan` becomes `pro_coder_plan`. */
function offerName(file: string): string {
  const plain = file.includes('@') ? file : basename(file)
  const name = plain.slice(0, plain.length - extname(plain).length).replaceAll(/[^A-Za-z0-9_-]+/g, '_')
  return name.slice(0, 64) || 'run'
}

/** @throws BatonError USAGE if two files would have the same tool name */
export function refuseSameNames(offers: readonly Offer[]): void {
  for (const [index, { name, file }] of offers.entries()) {
    const other = offers.slice(0, index).find((one) => one.name === name)
    if (other === undefined) continue
    throw new BatonError('USAGE', `${other.file} and ${file} would both be offered as the tool "${name}"`, {
      hint: 'Rename one of them, or serve them separately.',
    })
  }
}

/** A file that works on groups of files can have any number of answers. */
function shapeOf({ output, settings }: PromptTarget): AnswerShape {
  if (output === undefined) return 'text'
  if (settings.globs.working.length > 0) return 'answers'
  return output.schema['type'] === 'object' ? 'object' : 'answer'
}

function outputSchema(schema: JsonObject, shape: AnswerShape): JsonObject {
  switch (shape) {
    case 'text':
    case 'object':
      return schema
    case 'answer':
      return wrapped('answer', schema)
    case 'answers':
      return wrapped('answers', { type: 'array', items: schema })
  }
}

/** Definitions stay at the top level, because references point there. */
function wrapped(name: string, { $schema, $defs, definitions, ...schema }: JsonObject): JsonObject {
  return {
    ...($schema === undefined ? {} : { $schema }),
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    type: 'object',
    properties: { [name]: schema },
    required: [name],
  }
}

/** The answers of tasks as one value that matches the output schema; undefined without a schema. */
export function answerValue(values: readonly unknown[], { target }: Offer): JsonObject | undefined {
  const shape = target.kind === 'prompt' ? target.shape : 'text'
  const [first] = values as readonly JsonObject[]
  switch (shape) {
    case 'text':
      return undefined
    case 'object':
      return isJsonObject(first) ? first : undefined
    case 'answer':
      return first === undefined ? undefined : { answer: first }
    case 'answers':
      return { answers: values as readonly JsonObject[] }
  }
}
