import t from 'tap'
import { isCheapSelector } from '../../../../lib/kube/selectors/selector-size.ts'

const requirements = (count: number): string => Array.from({ length: count }, () => 'a').join(',')

t.test('a selector is cheap up to a length, and to a number of requirements', async t => {
  t.ok(isCheapSelector(''))
  t.ok(isCheapSelector('a'.repeat(8192)))
  t.notOk(isCheapSelector('a'.repeat(8193)))
  t.ok(isCheapSelector(requirements(100)))
  t.notOk(isCheapSelector(requirements(101)))
  t.notOk(isCheapSelector(`,${requirements(100)}`), 'a comma at the beginning counts')
})

t.test('the values of a set are one requirement', async t => {
  const set = `a in (${requirements(500)})`
  t.ok(isCheapSelector(set))
  t.ok(isCheapSelector(`${set},${requirements(99)}`))
  t.notOk(isCheapSelector(`${set},${requirements(100)}`))
  t.notOk(isCheapSelector(`)${requirements(101)}`), 'a bracket that none has opened hides nothing')
  t.ok(isCheapSelector(`(${requirements(200)}`))
})
