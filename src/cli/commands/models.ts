import { join } from 'node:path'
import { nearest } from '../../base/suggest.ts'
import { harmlessName } from '../../base/terminal-text.ts'
import { findWorkspace } from '../../config/locate.ts'
import { loadTargetConfig } from '../../config/target-config.ts'
import { packageRoot } from '../../package-root.ts'
import { findModels, type KnownModel } from '../../plan/known-models.ts'
import { countOf } from '../../render/format.ts'
import type { Flags } from '../command-specs.ts'
import { usageError } from '../command.ts'
import { type CommandIo, jsonLine, openWorkplace } from '../io.ts'

/**
 * `baton models [WORD]`: the models that have a short name here, with prices, context windows and keys; with a word all
 * known models that contain it. Nothing is called. Exit code 2 if there is none. `baton models update` takes newer
 * prices.
 */
export async function modelsCommand(flags: Flags<'models'>, io: CommandIo): Promise<number> {
  const { word } = flags
  if (word === 'update') return update(flags, io)
  const { cwd, env, home, paint, note } = openWorkplace(flags, io)
  const { settings } = await loadTargetConfig({ cwd, env, home, flags: { overrides: flags.config } })
  const tableFile = join(packageRoot(), 'agents', 'models.toml')
  const { models, source, hasGateway } = await findModels(
    { env, home, settings, tableFile },
    { isWide: word !== undefined },
  )
  const rows = word === undefined ? models : models.filter((row) => isAbout(row, word))
  if (rows.length === 0) throw noneFound(word ?? '', models)

  if (flags.names) {
    for (const name of new Set(rows.flatMap(({ names, label }) => [...names, label]))) io.out(`${name}\n`)
  } else if (flags.json) {
    for (const record of [{ kind: 'prices', ...source }, ...rows.map(recordOf)]) io.out(jsonLine(record))
  } else {
    const { checked, package: packageName, version, updated } = source
    if (hasGateway) note('the gateway gets every name unchanged\n')
    const [head = '', ...lines] = columns([headings, ...rows.map(cellsOf)])
    io.out([paint('dim', head), ...lines, ''].join('\n'))
    note(`${countOf(rows.length, 'model')}; US dollars per million tokens, of short requests\n`)
    note(`prices checked on ${checked}, others of ${packageName} ${version}${updated ? ' (updated)' : ''}\n`)
  }
  return 0
}

async function update(flags: Flags<'models'>, io: CommandIo): Promise<number> {
  if (flags.env !== undefined) {
    throw usageError('baton models update does not take --env', 'npm uses the settings of your own environment.')
  }
  if (flags.names) throw usageError('baton models update does not take --names', 'baton models --names prints names.')
  const { cwd, env, home, print } = openWorkplace(flags, io)
  const { updatePrices } = await import('../../plan/update-prices.ts')
  const workspace = findWorkspace({ cwd, env, home })
  const { name, version, before, newest } = await updatePrices({ env, home, workspace, signal: io.signal })
  print({ kind: 'prices', package: name, version, before, newest }, () => {
    return `prices of ${name} ${version}${version === before ? '; there is no newer version' : `, instead of ${before}`}\n`
  })
  return 0
}

function isAbout({ label, names }: KnownModel, word: string): boolean {
  return [label, ...names].some((text) => text.toLowerCase().includes(word.toLowerCase()))
}

function noneFound(word: string, all: readonly KnownModel[]): Error {
  const meant = nearest(
    word,
    all.flatMap(({ label, names, model }) => [...names, model, label]),
  )
  const hint = `${meant === undefined ? '' : `Did you mean "${meant}"? `}baton models lists the models that have a short name.`
  return usageError(`no known model contains "${harmlessName(word)}"`, hint)
}

function recordOf({ label, provider, model, names, rates, window, key }: KnownModel): object {
  return {
    kind: 'model',
    label,
    provider,
    model,
    names,
    input: rates?.input ?? null,
    cached: rates?.cached ?? null,
    output: rates?.output ?? null,
    window: window ?? null,
    key: key?.name ?? null,
    key_set: key?.isSet ?? null,
  }
}

const headings = ['model', 'names', 'input', 'cached', 'output', 'window', 'key'] as const

function cellsOf({ label, names, rates, window, key }: KnownModel): readonly string[] {
  const dollars = rates === undefined ? ['-', '-', '-'] : [rates.input, rates.cached, rates.output].map(dollarsText)
  const keyText = key === undefined ? 'not needed' : `${key.name}${key.isSet ? '' : ' (not set)'}`
  return [label, names.join(' '), ...dollars, window === undefined ? '-' : windowText(window), keyText].map(
    harmlessName,
  )
}

function dollarsText(dollars: number): string {
  const text = String(Number(dollars.toFixed(4)))
  return `$${/\.\d$/.test(text) ? `${text}0` : text}`
}

function windowText(tokens: number): string {
  return tokens < 1e6 ? `${Math.round(tokens / 1000)}k` : `${Number((tokens / 1e6).toFixed(2))}M`
}

/** Lines with columns of equal width; numbers are aligned to the right. */
function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = headings.map((_, index) => Math.max(...rows.map((row) => (row[index] ?? '').length)))
  return rows.map((row) => {
    const cells = row.map((cell, index) => {
      const width = widths[index] ?? 0
      return index > 1 && index < 6 ? cell.padStart(width) : cell.padEnd(width)
    })
    return cells.join('  ').trimEnd()
  })
}
