import t from 'tap'
import { InjectedFaults } from '../../../lib/simulator/faults/injected-faults.ts'
import { parseFaultRule } from '../../../lib/simulator/faults/rule.ts'
import { attributesOf } from '../../../lib/kube/request/attributes.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'

function faultsOf(...rules: string[]): InjectedFaults {
  return new InjectedFaults({ rules: rules.map(parseFaultRule), seed: 7, onMet: () => {} })
}

function choose(faults: InjectedFaults, path: string, userAgent = '') {
  return faults.chooseFor({ attributes: attributesOf('GET', parseTarget(path)!), userAgent })
}

t.test('a rule concerns the requests that it names', async t => {
  const faults = faultsOf(
    'error,verb=list,resource=deployments.apps|pods,namespace=a,agent=kubectl',
  )
  const meets = (path: string, agent = 'kubectl/v1'): boolean =>
    choose(faults, path, agent) !== undefined
  t.ok(meets('/api/v1/namespaces/a/pods'))
  t.ok(meets('/apis/apps/v1/namespaces/a/deployments'))
  t.notOk(meets('/apis/example.com/v1/namespaces/a/deployments'), 'of another group')
  t.notOk(meets('/api/v1/namespaces/b/pods'))
  t.notOk(meets('/api/v1/namespaces/a/pods/x'), 'a get')
  t.notOk(meets('/api/v1/namespaces/a/pods', 'curl/8'))
  t.notOk(choose(faultsOf('error'), '/readyz'), 'health checks stay whole')
})

t.test('the same seed and requests meet the same faults', async t => {
  const run = (): (number | undefined)[] => {
    const faults = faultsOf('latency,delay=0ms..100s,share=30%', 'error,share=20%,resource=nodes')
    return Array.from({ length: 200 }, (_, i) =>
      choose(faults, i % 3 === 0 ? '/api/v1/nodes' : '/api/v1/pods')?.delayMs(),
    )
  }
  const first = run()
  t.strictSame(run(), first)
  const met = first.filter(ms => ms !== undefined && ms > 0).length
  t.ok(met > 30 && met < 90, `${met} of 200`)
})

t.test('faults are counted once they are met, and not more often than they may be', async t => {
  const faults = faultsOf('error,times=2', 'watch-end,after=5')
  for (let i = 0; i < 5; i++) choose(faults, '/api/v1/pods')?.take('error')
  t.strictSame(faults.counts, [
    { rule: 'error,times=2', met: 2 },
    { rule: 'watch-end,after=5', met: 0 },
  ])
})
