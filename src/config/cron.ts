import { Cron } from 'croner'
import { messageOf } from '../base/error.ts'

/** The times of a cron expression. */
export interface Schedule {
  /** The first time after this one, both in milliseconds since 1970; undefined: there is none. */
  readonly after: (time: number) => number | undefined
}

/**
 * Reads an expression of five fields (minute, hour, day of the month, month, day of the week) or a nickname such as
 * `@daily`. At a change to daylight saving, a time of day that is skipped comes as soon as the clock has moved on, and
 * one that comes twice counts once; expressions with `*`, lists or ranges of hours follow the clock on the wall.
 * Returns what is wrong with it as text.
 * @param timeZone an IANA name; undefined: that of the machine
 */
export function parseSchedule(expression: string, timeZone: string | undefined): Schedule | string {
  let cron: Cron
  try {
    cron = new Cron(expression, {
      mode: '5-part',
      paused: true,
      ...(timeZone === undefined ? {} : { timezone: timeZone }),
    })
  } catch (error) {
    return messageOf(error).replace(/^CronPattern: /, '')
  }
  return { after: (time) => cron.nextRun(new Date(time))?.getTime() }
}

export function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
