/** ClusterRoleBindings: a role for subjects in all namespaces. */

import { type BuiltInKind, kind } from '../kind.ts'
import { checkBinding } from './shared/bindings.ts'
import { rulesOf } from './shared/rules.ts'

export const clusterRoleBinding: BuiltInKind = kind({
  group: 'rbac.authorization.k8s.io',
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  createsOnUpdate: true,
  ...rulesOf(object => checkBinding(object, false), false),
})
