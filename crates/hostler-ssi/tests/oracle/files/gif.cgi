#!/bin/sh
printf 'Content-Type: image/gif\n\ngif'
