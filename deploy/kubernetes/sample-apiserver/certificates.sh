#!/bin/sh
# certificates.sh FRONT-PROXY-CA.crt FRONT-PROXY-CA.key: makes the certificates of this example in certs/.
#   server       what clients and Watchglass see; it signs itself
#   front-proxy  by which sample-apiserver believes Watchglass who asks; signed by the cluster's authority of front proxies, which is
#                /etc/kubernetes/pki/front-proxy-ca.crt and .key where kubeadm made the cluster
set -eu
authority=$(realpath "$1")
authority_key=$(realpath "$2")
mkdir -p "$(dirname "$0")/certs"
cd "$(dirname "$0")/certs"
umask 077
openssl req -x509 -newkey rsa:2048 -nodes -days 365 -keyout server.key -out server.crt \
  -subj /CN=api.extension.svc -addext subjectAltName=DNS:api.extension.svc,IP:127.0.0.1
openssl req -new -newkey rsa:2048 -nodes -keyout front-proxy.key -out front-proxy.csr -subj /CN=front-proxy-client
echo extendedKeyUsage=clientAuth > front-proxy.ext
openssl x509 -req -in front-proxy.csr -CA "$authority" -CAkey "$authority_key" -set_serial "0x$(openssl rand -hex 16)" \
  -days 365 -extfile front-proxy.ext -out front-proxy.crt
rm front-proxy.csr front-proxy.ext
