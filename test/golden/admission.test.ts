import t, { type Test } from 'tap'
import { rbacOf } from '../support/http/rbac.ts'
import { startServed } from '../support/http/served.ts'
import { type AskedExchange, Asker, differenceOf, readAsked, tokens } from './asked.ts'
import { Table } from './replay.ts'

/** Answers that are not as they were recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-adm-1324': 'the end of the message is a difference of Go structs',
  'pub-adm-1325': 'the end of the message is a difference of Go structs',
  'pub-adm-1579': 'the Scale is checked before the object',
  'pub-adm-1609': 'the ages of objects',
  'pub-adm-1612': 'repeated members of YAML are told in the words of another version',
  'pub-adm-1617': 'repeated members of YAML are told in the words of another version',
  'pub-adm-1696': "the path of a file in the recorded server's tree",
  'pub-adm-1708': 'an error without a field is shown in the words of another version',
  'pub-adm-1729': 'too many operations of a patch are told in the words of another version',
}

async function replay(
  t: Test,
  asked: readonly AskedExchange[],
  enabled: readonly string[] = [],
): Promise<void> {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
    admission: { enabled, disabled: [] },
  })
  const asker = new Asker(served)
  const failures: string[] = []
  const table = new Table()
  for (const exchange of asked) {
    const { id, area, description } = exchange
    const difference = differenceOf(await asker.ask(exchange), exchange)
    if (difference === undefined) table.add(area, 'passed')
    else if (exceptions[id] !== undefined) table.add(area, 'excepted')
    else {
      table.add(area, 'failed')
      failures.push(`${id} ${area} ${description}: ${difference}`)
    }
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
}

const all = readAsked('admission/exchanges.jsonl.gz')

t.test('built-in admission plugins do what those of a kube-apiserver do', async t => {
  await replay(
    t,
    all.filter(({ apiserver_run: run }) => run === 1),
  )
})

t.test('service accounts', async t => {
  await replay(
    t,
    all.filter(({ apiserver_run: run }) => run === 2),
    ['ServiceAccount'],
  )
})

t.test('plugins, definitions and roles in more forms', async t => {
  await replay(t, readAsked('admission/more.jsonl.gz'))
})

t.test('plugins that have to be switched on', async t => {
  await replay(t, readAsked('admission/off-plugins.jsonl.gz'), [
    'AlwaysPullImages',
    'DenyServiceExternalIPs',
    'ExtendedResourceToleration',
    'LimitPodHardAntiAffinityTopology',
    'OwnerReferencesPermissionEnforcement',
  ])
})
