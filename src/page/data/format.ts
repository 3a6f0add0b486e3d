import { harmlessName } from '../../base/terminal-text.ts'
import type { RunSummary } from '../live/wire.ts'

/** A duration in its two largest units: `250 ms`, `1.5 s`, `45 s`, `1 m 30 s`, `2 h 5 m`. */
export function durationText(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`
  const seconds = ms / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`
  return hours > 0 ? `${hours} h ${minutes} m` : `${minutes} m ${whole % 60} s`
}

/** `$0`, `$0.0012`, `$0.35`, `$12.40`; a dash for an unknown price. */
export function costText(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return '–'
  if (usd === 0) return '$0'
  return usd < 0.1 ? `$${Number(usd.toPrecision(2)).toString()}` : `$${usd.toFixed(2)}`
}

/** `950`, `12.4k`, `3.1M`. */
export function countText(count: number): string {
  if (count < 1_000) return String(Math.round(count))
  if (count < 999_500) return `${(count / 1_000).toFixed(count < 9_950 ? 1 : 0)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** `1 file`, `2 files`. */
export function numberOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** How tasks ended: `3 done, 1 failed`. */
export function tasksText({ done, failed, skipped }: RunSummary['tasks']): string {
  return [
    `${done} done`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(', ')
}

/** Arguments that tell what a call is about, best first: what decides what it does, whatever order a model gives them. */
const telling = ['command', 'path', 'file_path', 'url', 'pattern', 'query', 'name']

/** What a call is about: the first line of its most telling argument. */
export function subjectOf(input: unknown): string {
  const named = new Map(typeof input === 'object' && input !== null ? Object.entries(input) : [['', input]])
  const all = [...telling.map((name) => named.get(name)), ...named.values()]
  const text = all.find((value): value is string => typeof value === 'string' && value !== '') ?? ''
  const [first = '', ...others] = text.trim().split('\n')
  const line = first.slice(0, mostOfSubject)
  return harmlessName(others.length > 0 || line !== first ? `${line} …` : line)
}

const mostOfSubject = 200

/** A timestamp for lists: `today 12:30:05`, `11-28 12:30`, or the day in another year. */
export function whenText(iso: string, now: Date = new Date()): string {
  const date = new Date(iso)
  const time = `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`
  if (date.toDateString() === now.toDateString()) return `today ${time}:${twoDigits(date.getSeconds())}`
  const day = `${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`
  return date.getFullYear() === now.getFullYear() ? `${day} ${time}` : `${date.getFullYear()}-${day}`
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}

/** The folder of a path, with a trailing slash, and the file name, as they are shown. */
export function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\'))
  return { folder: harmlessName(path.slice(0, slash + 1)), name: harmlessName(path.slice(slash + 1)) }
}
