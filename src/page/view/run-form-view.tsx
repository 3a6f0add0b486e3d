import type { ComponentChildren, VNode } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { type FormField, formFields, typedText } from '../data/form-fields.ts'
import { fetchChoices, fetchForm, fetchRun, startRun, wrongFields } from '../live/api.ts'
import { useLoaded } from '../live/use-loaded.ts'
import type { Choices, RunForm, StartAsked } from '../live/wire.ts'
import { above, hashOf, type Route } from '../route.ts'
import { Loading } from './loading.tsx'
import { useNotice } from './notice.tsx'
import { Field, SchemaFields } from './schema-fields.tsx'

interface RunFormViewProps {
  /** A prompt file or agent; empty for a text. */
  readonly file: string
  /** The id of a run whose values fill the form; empty: none. */
  readonly from: string
  readonly go: (route: Route) => void
}

/** What the form needs. */
interface Asked {
  readonly form: RunForm
  readonly choices: Choices
  readonly again: StartAsked
}

/** A form to start a run: the variables of its file, inputs, files, model, mode, limits. */
export function RunFormView({ file, from, go }: RunFormViewProps): VNode {
  const [loaded] = useLoaded(`${file}/${from}`, async (): Promise<Asked> => {
    const earlier = from === '' ? undefined : (await fetchRun(from)).again
    const again = earlier ?? {}
    const [form, choices] = await Promise.all([file === '' ? noForm : fetchForm(file), fetchChoices()])
    return { form, choices, again }
  })
  const back = above({ kind: 'new', file, from })
  return (
    <section class="view scroll" aria-label={`Run ${file}`}>
      <div class="title">
        <a class="back" aria-label="Back" href={back === undefined ? '#/' : hashOf(back)}>
          ←
        </a>
        <h1>
          {from === '' ? 'Run' : 'Run again'} {file}
        </h1>
      </div>
      <Loading loaded={loaded}>{(asked) => <StartForm file={file} asked={asked} go={go} />}</Loading>
    </section>
  )
}

/** A text has no variables. */
const noForm: RunForm = {
  kind: 'prompt',
  file: '',
  title: null,
  description: null,
  variables: {},
  takesInputs: true,
  model: null,
  mode: null,
  max_cost: null,
}

const plain: Omit<FormField, 'name' | 'title'> = {
  description: '',
  isRequired: false,
  initial: '',
  input: 'text',
  choices: [],
  hint: '',
}

const dryChoices = [
  { value: 'changes', title: 'Make no file changes' },
  { value: 'res', title: 'Ask the model, and use nothing of the answer' },
  { value: 'req', title: 'Only build the request' },
]

interface StartFormProps {
  readonly file: string
  readonly asked: Asked
  readonly go: (route: Route) => void
}

function StartForm({ file, asked: { form, choices, again }, go }: StartFormProps): VNode {
  const variables = useMemo(() => formFields(form.variables), [form])
  const [vars, setVars] = useState(() => textsOf(again.vars ?? {}))
  const [values, setValues] = useState(() => valuesOf(again))
  const [problems, setProblems] = useState<ReadonlyMap<string, string>>(new Map())
  const [isStarting, setStarting] = useState(false)
  const { complain } = useNotice()

  async function start(): Promise<void> {
    setStarting(true)
    try {
      const typed = variables.flatMap(({ name, initial }): readonly (readonly [string, string])[] => {
        const text = vars.get(name) ?? initial
        return text === '' ? [] : [[name, text]]
      })
      const { id } = await startRun({
        ...(file === '' ? { text: values.get('text') ?? '' } : { file }),
        ...(typed.length > 0 && { vars: Object.fromEntries(typed) }),
        ...askedOf(values, form.kind),
      })
      go({ kind: 'run', id, tab: 'answer' })
    } catch (error) {
      const wrong = wrongFields(error)
      setProblems(wrong)
      setStarting(false)
      const known = [...wrong.keys()].every(
        (field) => variables.some(({ name }) => field === `vars.${name}`) || fieldNames.has(field),
      )
      if (wrong.size === 0 || !known) return complain(error)
      setTimeout(() => document.querySelector<HTMLElement>('.field.wrong :is(input, select, textarea)')?.focus())
    }
  }

  const field = (name: string, title: string, more: Partial<FormField> = {}, offers?: readonly string[]): VNode => (
    <Field
      id={`run-${name}`}
      field={{ ...plain, name, title, ...more }}
      value={values.get(name) ?? ''}
      problem={problems.get(name)}
      onChange={(value) => setValues(new Map([...values, [name, value]]))}
      {...(offers !== undefined && { offers })}
    />
  )
  return (
    <form
      class="form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void start()
      }}
    >
      {form.title !== null && <h2>{form.title}</h2>}
      {form.description !== null && <p>{form.description}</p>}
      {file === '' && field('text', 'Prompt', { input: 'lines', isRequired: true })}
      {variables.length > 0 && (
        <Group name="Variables">
          <SchemaFields
            id="run-var"
            fields={variables}
            values={vars}
            problems={new Map([...problems].map(([name, problem]) => [name.replace(/^vars\./, ''), problem]))}
            onChange={(name, value) => setVars(new Map([...vars, [name, value]]))}
          />
        </Group>
      )}
      <Group name="Tasks">
        {form.takesInputs &&
          field('inputs', 'Inputs', { input: 'lines', hint: 'one task for each line, instead of files' })}
        {field('files', 'Files', { hint: 'globs with commas, such as src/**/*.ts; one task for each file' })}
      </Group>
      <Group name="Settings">
        {field('model', 'Model', { hint: defaultText(form.model) }, choices.models)}
        {field('mode', 'Mode', { hint: defaultText(form.mode) }, choices.modes)}
        {field('max_cost', 'Budget in US dollars', { input: 'number', hint: defaultText(form.max_cost) })}
        {field('iter', 'Iterations', { hint: 'a number, or a time such as 30m' })}
        {field('until', 'Until this command succeeds')}
        {field('dry', 'Dry run', { input: 'choice', choices: dryChoices })}
      </Group>
      <div class="decision">
        <button type="submit" class="primary" disabled={isStarting}>
          Start
        </button>
      </div>
    </form>
  )
}

function Group({ name, children }: { readonly name: string; readonly children: ComponentChildren }): VNode {
  return (
    <fieldset>
      <legend>{name}</legend>
      {children}
    </fieldset>
  )
}

function defaultText(value: string | number | null): string {
  return value === null ? '' : `usually ${value}`
}

function textsOf(values: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(values).map(([name, value]) => [name, typedText(value)]))
}

const fieldNames: ReadonlySet<string> = new Set([
  'text',
  'inputs',
  'files',
  'model',
  'mode',
  'max_cost',
  'iter',
  'until',
  'dry',
])

/** The fields of a request as typed. An input that has several lines is kept in one, as JSON. */
function valuesOf({ inputs = [], ...asked }: StartAsked): ReadonlyMap<string, string> {
  const lines = inputs.map((input) =>
    typeof input === 'string' && !input.includes('\n') ? input : JSON.stringify(input),
  )
  const others = Object.entries(asked).filter(([name]) => fieldNames.has(name))
  return new Map([...textsOf(Object.fromEntries(others)), ['inputs', lines.join('\n')]])
}

/** What was typed as the fields of a request. */
function askedOf(values: ReadonlyMap<string, string>, kind: RunForm['kind']): StartAsked {
  const textOf = (name: string): string => (values.get(name) ?? '').trim()
  const listOf = (name: string, separator: string): readonly string[] =>
    textOf(name)
      .split(separator)
      .flatMap((one) => one.trim() || [])
  const inputs = listOf('inputs', '\n').map((line) => inputOf(line, kind))
  const files = listOf('files', ',')
  const cost = textOf('max_cost')
  const texts = ['model', 'mode', 'iter', 'until', 'dry'].map((name) => [name, textOf(name)] as const)
  return {
    ...(inputs.length > 0 && { inputs }),
    ...(files.length > 0 && { files }),
    ...(cost !== '' && { max_cost: Number(cost) }),
    ...Object.fromEntries(texts.filter(([, text]) => text !== '')),
  }
}

/** JSON where it was made from JSON: a text of several lines, or another value for an agent. */
function inputOf(line: string, kind: RunForm['kind']): unknown {
  if (!(kind === 'agent' ? /^["{[]/ : /^".*\\n.*"$/).test(line)) return line
  try {
    return JSON.parse(line)
  } catch {
    return line
  }
}
