/** From a command's name to what it does. Each is loaded when it is asked for, so that `--help`
 *  needs none of them. */

import type { CommandName } from './commands.ts'
import type { CommandRunner } from './context.ts'
import { keepYoungRoom } from './young-room.ts'

const runners: Readonly<Record<CommandName, () => Promise<CommandRunner>>> = {
  check: async () => (await import('./check/check.ts')).check,
  completion: async () => (await import('./completion.ts')).completion,
  decode: async () => (await import('./decode.ts')).decode,
  encode: async () => (await import('./decode.ts')).encode,
  envtest: async () => (await import('./envtest/envtest.ts')).envtest,
  generate: async () => (await import('./generate.ts')).generate,
  get: async () => (await import('./get/get.ts')).get,
  man: async () => (await import('./man.ts')).man,
  proxy: async () => (await import('./proxy.ts')).proxy,
  record: async () => (await import('./record.ts')).record,
  run: async () => (await import('./test-cluster/run-in-cluster.ts')).runInCluster,
  save: async () => (await import('./record.ts')).save,
  serve: async () => {
    keepYoungRoom()
    return (await import('./serve.ts')).serve
  },
  stages: async () => (await import('./stages.ts')).stages,
}

/** The function that runs a command of the table. */
export function runnerOf(command: string): Promise<CommandRunner> {
  return runners[command as CommandName]()
}
