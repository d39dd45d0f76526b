import t, { type Test } from 'tap'
import { rbacOf } from '../support/http/rbac.ts'
import { startServed } from '../support/http/served.ts'
import { Asker, differenceOf, readAsked, tokens } from './asked.ts'
import { Table } from './replay.ts'

/** Answers that are not as they were recorded, and why that is right. */
const exceptions: Readonly<Record<string, string>> = {
  'pub-adm-0799': 'the age of the policy',
}

async function replay(t: Test, file: string): Promise<void> {
  const served = await startServed(t, {
    isWritable: true,
    basics: { rootAuthority: 'none' },
    access: rbacOf(tokens),
    admission: { enabled: [], disabled: [] },
  })
  const asker = new Asker(served)
  const table = new Table()
  const failures: string[] = []
  for (const exchange of readAsked(file)) {
    const { id, area, description } = exchange
    const difference = differenceOf(await asker.ask(exchange), exchange)
    if (difference === undefined) table.add(area, 'passed')
    else if (exceptions[id] !== undefined) table.add(area, 'excepted')
    else {
      table.add(area, 'failed')
      failures.push(`${id} ${description}: ${difference}`)
    }
  }
  for (const line of table.lines()) t.comment(line)
  t.strictSame(failures, [])
}

t.test('rules of definitions say what those of a kube-apiserver say', async t => {
  await replay(t, 'admission/crd-cel.jsonl.gz')
})

t.test('admission policies do what those of a kube-apiserver do', async t => {
  await replay(t, 'admission/vap.jsonl.gz')
})

t.test('mutating policies change what those of a kube-apiserver change', async t => {
  await replay(t, 'admission/map.jsonl.gz')
})

t.test('policies of every form do what those of a kube-apiserver do', async t => {
  await replay(t, 'admission/policies.jsonl.gz')
})
