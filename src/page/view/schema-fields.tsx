import type { VNode } from 'preact'
import type { FormField } from '../data/form-fields.ts'

interface SchemaFieldsProps {
  /** Tells apart the fields of several forms. */
  readonly id: string
  readonly fields: readonly FormField[]
  /** As typed, by name. */
  readonly values: ReadonlyMap<string, string>
  /** What is wrong, by name. */
  readonly problems: ReadonlyMap<string, string>
  readonly onChange: (name: string, value: string) => void
}

/** The fields of a form, with what is wrong beside each. */
export function SchemaFields({ id, fields, values, problems, onChange }: SchemaFieldsProps): VNode {
  return (
    <>
      {fields.map((field) => (
        <Field
          key={field.name}
          id={`${id}-${field.name}`}
          field={field}
          value={values.get(field.name) ?? field.initial}
          problem={problems.get(field.name)}
          onChange={(value) => onChange(field.name, value)}
        />
      ))}
    </>
  )
}

interface FieldProps {
  readonly id: string
  readonly field: FormField
  readonly value: string
  readonly problem: string | undefined
  readonly onChange: (value: string) => void
  /** Names that are offered, besides any other text. */
  readonly offers?: readonly string[]
}

/** A labelled field of a form. */
export function Field({ id, field, value, problem, onChange, offers }: FieldProps): VNode {
  const { title, description, isRequired, input, choices, hint } = field
  const notes = [description, hint].filter((text) => text !== '').join(' · ')
  const shared = {
    id,
    value,
    required: isRequired,
    'aria-invalid': problem !== undefined,
    ...((notes !== '' || problem !== undefined) && { 'aria-describedby': `${id}-about` }),
  }
  return (
    <div class={problem === undefined ? 'field' : 'field wrong'}>
      <label for={id}>
        {title}
        {isRequired && <span class="about"> (required)</span>}
      </label>
      {input === 'choice' ? (
        <select {...shared} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          {(!isRequired || value === '') && <option value="">{isRequired ? 'Choose…' : '–'}</option>}
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value}>
              {choice.title}
            </option>
          ))}
        </select>
      ) : input === 'lines' ? (
        <textarea
          {...shared}
          rows={Math.min(12, value.split('\n').length)}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      ) : (
        <input
          {...shared}
          type="text"
          {...(input === 'number' && { inputMode: 'decimal' as const })}
          {...(offers !== undefined && { list: `${id}-offers` })}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
      {offers !== undefined && (
        <datalist id={`${id}-offers`}>
          {offers.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
      {(notes !== '' || problem !== undefined) && (
        <p class="about" id={`${id}-about`}>
          {problem !== undefined && <span class="problem">{`${title} ${problem}. `}</span>}
          {notes}
        </p>
      )}
    </div>
  )
}
