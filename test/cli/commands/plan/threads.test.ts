/** Which numbers of threads a machine can have. */

import t from 'tap'
import { OptionValues } from '../../../../lib/cli/options/option-values.ts'
import { canSharePort, type Machine, threadsOf } from '../../../../lib/cli/commands/plan/threads.ts'

const machine: Machine = { cores: 16, platform: 'linux', node: '22.12.0' }

function threads(given: string | undefined, changes: Partial<Machine> = {}): number {
  const values = new Map(given === undefined ? [] : [['threads', [given]] as const])
  return threadsOf(new OptionValues(values), { ...machine, ...changes })
}

t.test('auto leaves a core for the main thread, and is one where several cannot be', async t => {
  t.equal(threads(undefined), 1)
  t.equal(threads('auto'), 8)
  t.equal(threads('auto', { cores: 4 }), 3)
  t.equal(threads('auto', { cores: 2 }), 1)
  t.equal(threads('auto', { node: '20.20.2' }), 1)
  t.equal(threads('auto', { platform: 'darwin' }), 1)
})

t.test(
  'several threads are refused where they cannot listen on one port, with the reason',
  async t => {
    t.equal(threads('64'), 64)
    t.equal(threads('1', { node: '20.20.2' }), 1)
    t.throws(() => threads('2', { node: '20.20.2' }), {
      code: 'invalid_request',
      message:
        /^--threads 2 needs Linux and Node 22\.12 or newer, .* this is Node 20\.20\.2 on linux: use a newer Node, or --threads 1$/,
    })
    t.throws(() => threads('2', { platform: 'win32' }), /on win32/)
    for (const wrong of ['0', '65', '-1', 'many', '']) {
      t.throws(() => threads(wrong), /is not auto or a number of threads from 1 to 64/)
    }
  },
)

t.test('Node listens beside others from 22.12 and from 23.1 on', async t => {
  const table = {
    '18.20.0': false,
    '20.20.2': false,
    '22.11.0': false,
    '22.12.0': true,
    '23.0.0': false,
    '23.1.0': true,
    '24.0.0': true,
  }
  for (const [node, expected] of Object.entries(table)) {
    t.equal(canSharePort({ platform: 'linux', node }), expected, node)
  }
})
