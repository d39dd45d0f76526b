#!/usr/bin/env bash
# Makes the certificates that tests use, valid for a hundred years: a CA, a server for loopback, and a client (CN=alice, O=dev).
set -eu
cd "$(dirname "$0")"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj '/CN=watchglass test CA' \
  -keyout ca.key -out ca.pem
issue() { # name, subject, extensions
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 36500 -extfile <(printf '%s\n' "$3") -out "$1.pem"
  rm "$1.csr"
}
issue server '/CN=watchglass test server' \
  $'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\nextendedKeyUsage=serverAuth,clientAuth'
issue renewed '/CN=watchglass renewed server' \
  $'subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1\nextendedKeyUsage=serverAuth'
issue client '/CN=alice/O=dev' 'extendedKeyUsage=clientAuth'
rm -f ca.srl

# Front proxies have an authority of their own: front-proxy (CN=front-proxy) is of it; false-proxy has the same names, also those of
# its authority, which is another one.
for name in proxies-ca false-ca; do
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj '/CN=watchglass test front proxies' \
    -keyout $name.key -out $name.pem
done
proxy() { # name, authority
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj '/CN=front-proxy' -keyout "$1.key" -out "$1.csr"
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 36500 \
    -extfile <(printf 'extendedKeyUsage=clientAuth\n') -out "$1.pem"
  rm "$1.csr"
}
proxy front-proxy proxies-ca
proxy false-proxy false-ca
rm -f ./*.srl
