import { BatonError } from '../../base/error.ts'
import { receiversOf, sendTest } from '../../config/deliver-notice.ts'
import { userConfigFile } from '../../config/locate.ts'
import type { Flags } from '../command-specs.ts'
import { type CommandIo, openWorkplace } from '../io.ts'
import { workspaceRuns } from '../runs-folder.ts'

/** `baton notify --test`: sends a notice as runs do. Exit code 1 if it did not arrive. */
export async function notifyCommand(flags: Flags<'notify'>, io: CommandIo): Promise<number> {
  const workplace = openWorkplace(flags, io)
  const { env, home, print } = workplace
  const { notify } = (await workspaceRuns(flags, workplace)).settings
  const receivers = notify === undefined ? [] : receiversOf(notify, env)
  if (notify === undefined || receivers.length === 0) {
    throw new BatonError(
      'USAGE',
      'nobody is to be told: your config file has no [notify] with a command or a webhook',
      {
        hint: `Add it to ${userConfigFile({ env, home })}, for example [notify] command = 'notify-send "$BATON_NOTIFY_TEXT"'.`,
      },
    )
  }
  const problems = await sendTest(notify, { env, home })
  print({ receivers, problems }, () => (problems.length > 0 ? '' : `sent a notice to ${receivers.join(' and ')}\n`))
  if (!flags.json) for (const problem of problems) io.err(`${problem}\n`)
  return problems.length === 0 ? 0 : 1
}
